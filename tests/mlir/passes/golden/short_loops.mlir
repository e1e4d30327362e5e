// The sums of rows of three, which fill no vector.
func.func @f(%a: memref<1000x3xf64>, %s: memref<1000xf64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%a : memref<1000x3xf64>) outs(%s : memref<1000xf64>) {
  ^bb0(%x: f64, %sum: f64):
    %0 = arith.addf %sum, %x : f64
    linalg.yield %0 : f64
  }
  return
}

// becomes
module {
  func.func @f(%arg0: memref<1000x3xf64>, %arg1: memref<1000xf64>) {
    %c2 = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c0_0 = arith.constant 0 : index
    %c1000 = arith.constant 1000 : index
    %c1_1 = arith.constant 1 : index
    scf.for %arg2 = %c0_0 to %c1000 step %c1_1 {
      %0 = memref.load %arg0[%arg2, %c0] : memref<1000x3xf64>
      %1 = memref.load %arg1[%arg2] : memref<1000xf64>
      %2 = memref.load %arg0[%arg2, %c1] : memref<1000x3xf64>
      %3 = memref.load %arg0[%arg2, %c2] : memref<1000x3xf64>
      %4 = arith.addf %1, %0 : f64
      %5 = arith.addf %2, %3 : f64
      %6 = arith.addf %4, %5 : f64
      memref.store %6, %arg1[%arg2] : memref<1000xf64>
    }
    return
  }
}
