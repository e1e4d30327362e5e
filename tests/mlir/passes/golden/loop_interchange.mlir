// A sum over rows walks along them.
func.func @f(%a: memref<?x?xf64>, %s: memref<?xf64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<?x?xf64>) outs(%s : memref<?xf64>) {
  ^bb0(%x: f64, %sum: f64):
    %0 = arith.addf %sum, %x : f64
    linalg.yield %0 : f64
  }
  return
}

// becomes
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @f(%arg0: memref<?x?xf64>, %arg1: memref<?xf64>) {
    linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "parallel"]} ins(%arg0 : memref<?x?xf64>) outs(%arg1 : memref<?xf64>) {
    ^bb0(%in: f64, %out: f64):
      %0 = arith.addf %out, %in fastmath<reassoc> : f64
      linalg.yield %0 : f64
    }
    return
  }
}
