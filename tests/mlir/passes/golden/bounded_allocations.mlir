func.func @f(%n: index, %m: index) -> (memref<?xf64>, memref<?x3x?xf32>) {
  %0 = memref.alloc(%n) : memref<?xf64>
  %1 = memref.alloc(%n, %m) : memref<?x3x?xf32>
  return %0, %1 : memref<?xf64>, memref<?x3x?xf32>
}

// becomes
module {
  func.func @f(%arg0: index, %arg1: index) -> (memref<?xf64>, memref<?x3x?xf32>) {
    %c576460752303423488 = arith.constant 576460752303423488 : index
    %0 = arith.minui %arg0, %c576460752303423488 : index
    %alloc = memref.alloc(%0) : memref<?xf64>
    %c384307168202282325 = arith.constant 384307168202282325 : index
    %cst = arith.constant 1.000000e+00 : f64
    %1 = arith.index_cast %arg0 : index to i64
    %2 = arith.uitofp %1 : i64 to f64
    %3 = arith.mulf %cst, %2 : f64
    %4 = arith.index_cast %arg1 : index to i64
    %5 = arith.uitofp %4 : i64 to f64
    %6 = arith.mulf %3, %5 : f64
    %cst_0 = arith.constant 3.843071682022823E+17 : f64
    %7 = arith.cmpf oge, %6, %cst_0 : f64
    %c1 = arith.constant 1 : index
    %8 = arith.select %7, %c384307168202282325, %arg0 : index
    %9 = arith.select %7, %c1, %arg1 : index
    %alloc_1 = memref.alloc(%8, %9) : memref<?x3x?xf32>
    return %alloc, %alloc_1 : memref<?xf64>, memref<?x3x?xf32>
  }
}
