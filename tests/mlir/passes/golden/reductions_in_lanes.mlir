// The root of the sum of squares, of which LLVM knows no vector.
func.func @f(%a: memref<1000xf64>, %s: memref<f64>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
    ins(%a : memref<1000xf64>) outs(%s : memref<f64>) {
  ^bb0(%x: f64, %y: f64):
    %0 = arith.mulf %x, %x : f64
    %1 = arith.mulf %y, %y : f64
    %2 = arith.addf %0, %1 : f64
    %3 = math.sqrt %2 : f64
    linalg.yield %3 : f64
  }
  return
}

// becomes
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0) -> ()>
module {
  func.func @f(%arg0: memref<1000xf64>, %arg1: memref<f64>) {
    linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction"]} ins(%arg0 : memref<1000xf64>) outs(%arg1 : memref<f64>) {
    ^bb0(%in: f64, %out: f64):
      %0 = arith.mulf %in, %in : f64
      %1 = arith.mulf %out, %out : f64
      %2 = arith.addf %0, %1 : f64
      %3 = math.sqrt %2 : f64
      linalg.yield %3 : f64
    }
    return
  }
}
