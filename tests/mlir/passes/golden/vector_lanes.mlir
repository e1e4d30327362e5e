// Lanes whose own condition is false keep their values until the last one is done.
#row = affine_map<(i) -> (i)>
func.func @f(%a: memref<64xf64>, %b: memref<64xf64>) {
  %half = arith.constant 0.5 : f64
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
    ins(%a : memref<64xf64>) outs(%b : memref<64xf64>) {
  ^bb0(%in: f64, %out: f64):
    %r = scf.while (%x = %in) : (f64) -> f64 {
      %more = arith.cmpf ogt, %x, %half : f64
      scf.condition(%more) %x : f64
    } do {
    ^bb0(%x: f64):
      %y = arith.mulf %x, %half : f64
      scf.yield %y : f64
    }
    linalg.yield %r : f64
  }
  return
}

// becomes
module {
  func.func @f(%arg0: memref<64xf64>, %arg1: memref<64xf64>) {
    %cst = arith.constant 5.000000e-01 : f64
    %c64 = arith.constant 64 : index
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    scf.for %arg2 = %c0 to %c64 step %c16 {
      %0 = arith.subi %c64, %arg2 : index
      %1 = vector.create_mask %0 : vector<16xi1>
      %c1 = arith.constant 1 : index
      %2 = arith.subi %0, %c1 : index
      %3 = arith.addi %arg2, %2 : index
      %4 = memref.load %arg0[%3] : memref<64xf64>
      %5 = vector.broadcast %4 : f64 to vector<16xf64>
      %6 = vector.maskedload %arg0[%arg2], %1, %5 : memref<64xf64>, vector<16xi1>, vector<16xf64> into vector<16xf64>
      %7:3 = scf.while (%arg3 = %6) : (vector<16xf64>) -> (vector<16xf64>, vector<16xi1>, vector<16xf64>) {
        %8 = vector.broadcast %cst : f64 to vector<16xf64>
        %9 = arith.cmpf ogt, %arg3, %8 : vector<16xf64>
        %10 = vector.reduction <or>, %9 : vector<16xi1> into i1
        scf.condition(%10) %arg3, %9, %arg3 : vector<16xf64>, vector<16xi1>, vector<16xf64>
      } do {
      ^bb0(%arg3: vector<16xf64>, %arg4: vector<16xi1>, %arg5: vector<16xf64>):
        %8 = vector.broadcast %cst : f64 to vector<16xf64>
        %9 = arith.mulf %arg3, %8 : vector<16xf64>
        %10 = arith.select %arg4, %9, %arg5 : vector<16xi1>, vector<16xf64>
        scf.yield %10 : vector<16xf64>
      }
      vector.maskedstore %arg1[%arg2], %1, %7#0 : memref<64xf64>, vector<16xi1>, vector<16xf64>
    }
    return
  }
}
