// Of arrays, not of single numbers.
func.func @f(%x: memref<9xf32>, %y: memref<9xf32>, %a: f32) -> f32 {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : memref<9xf32>) outs(%y : memref<9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = math.exp %in : f32
    %1 = math.exp %0 : f32
    %2 = arith.cmpf ogt, %1, %in : f32
    %3 = arith.uitofp %2 : i1 to f32
    linalg.yield %3 : f32
  }
  %4 = math.exp %a : f32
  return %4 : f32
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func private @diastase_import__elementary__exp_f32(f32) -> f32 attributes {llvm.readnone}
  func.func @f(%arg0: memref<9xf32>, %arg1: memref<9xf32>, %arg2: f32) -> f32 {
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : memref<9xf32>) outs(%arg1 : memref<9xf32>) {
    ^bb0(%in: f32, %out: f32):
      %1 = func.call @diastase_import__elementary__exp_f32(%in) : (f32) -> f32
      %2 = func.call @diastase_import__elementary__exp_f32(%1) : (f32) -> f32
      %3 = arith.cmpf ogt, %2, %in : f32
      %cst = arith.constant 1.000000e+00 : f32
      %cst_0 = arith.constant 0.000000e+00 : f32
      %4 = arith.select %3, %cst, %cst_0 : f32
      linalg.yield %4 : f32
    }
    %0 = math.exp %arg2 : f32
    return %0 : f32
  }
}
