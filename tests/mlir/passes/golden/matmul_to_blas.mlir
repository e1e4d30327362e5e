module attributes {diastase.for_blas} {
  func.func @f(%a: memref<64x64xf64>, %b: memref<64x64xf64>, %c: memref<64x64xf64>) {
    %zero = arith.constant 0.0 : f64
    linalg.fill ins(%zero : f64) outs(%c : memref<64x64xf64>)
    linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      {diastase.for_blas} ins(%a, %b : memref<64x64xf64>, memref<64x64xf64>) outs(%c : memref<64x64xf64>)
    return
  }
}

// becomes
module {
  func.func @f(%arg0: memref<64x64xf64>, %arg1: memref<64x64xf64>, %arg2: memref<64x64xf64>) {
    %cst = arith.constant 0.000000e+00 : f64
    %c78_i8 = arith.constant 78 : i8
    %c78_i8_0 = arith.constant 78 : i8
    %c64_i64 = arith.constant 64 : i64
    %c64_i64_1 = arith.constant 64 : i64
    %c64_i64_2 = arith.constant 64 : i64
    %cst_3 = arith.constant 1.000000e+00 : f64
    %intptr = memref.extract_aligned_pointer_as_index %arg1 : memref<64x64xf64> -> index
    %0 = arith.index_cast %intptr : index to i64
    %1 = llvm.inttoptr %0 : i64 to !llvm.ptr
    %c64_i64_4 = arith.constant 64 : i64
    %intptr_5 = memref.extract_aligned_pointer_as_index %arg0 : memref<64x64xf64> -> index
    %2 = arith.index_cast %intptr_5 : index to i64
    %3 = llvm.inttoptr %2 : i64 to !llvm.ptr
    %c64_i64_6 = arith.constant 64 : i64
    %cst_7 = arith.constant 0.000000e+00 : f64
    %intptr_8 = memref.extract_aligned_pointer_as_index %arg2 : memref<64x64xf64> -> index
    %4 = arith.index_cast %intptr_8 : index to i64
    %5 = llvm.inttoptr %4 : i64 to !llvm.ptr
    %c64_i64_9 = arith.constant 64 : i64
    call @diastase_direct_dgemm(%c78_i8, %c78_i8_0, %c64_i64, %c64_i64_1, %c64_i64_2, %cst_3, %1, %c64_i64_4, %3, %c64_i64_6, %cst_7, %5, %c64_i64_9) : (i8, i8, i64, i64, i64, f64, !llvm.ptr, i64, !llvm.ptr, i64, f64, !llvm.ptr, i64) -> ()
    return
  }
  func.func private @diastase_import__blas__dgemm(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
  func.func private @diastase_direct_dgemm(%arg0: i8, %arg1: i8, %arg2: i64, %arg3: i64, %arg4: i64, %arg5: f64, %arg6: !llvm.ptr, %arg7: i64, %arg8: !llvm.ptr, %arg9: i64, %arg10: f64, %arg11: !llvm.ptr, %arg12: i64) {
    %0 = llvm.mlir.constant(1 : i64) : i64
    %1 = llvm.alloca %0 x i8 : (i64) -> !llvm.ptr
    llvm.store %arg0, %1 : i8, !llvm.ptr
    %2 = llvm.alloca %0 x i8 : (i64) -> !llvm.ptr
    llvm.store %arg1, %2 : i8, !llvm.ptr
    %3 = llvm.trunc %arg2 : i64 to i32
    %4 = llvm.alloca %0 x i32 : (i64) -> !llvm.ptr
    llvm.store %3, %4 : i32, !llvm.ptr
    %5 = llvm.trunc %arg3 : i64 to i32
    %6 = llvm.alloca %0 x i32 : (i64) -> !llvm.ptr
    llvm.store %5, %6 : i32, !llvm.ptr
    %7 = llvm.trunc %arg4 : i64 to i32
    %8 = llvm.alloca %0 x i32 : (i64) -> !llvm.ptr
    llvm.store %7, %8 : i32, !llvm.ptr
    %9 = llvm.alloca %0 x f64 : (i64) -> !llvm.ptr
    llvm.store %arg5, %9 : f64, !llvm.ptr
    %10 = llvm.trunc %arg7 : i64 to i32
    %11 = llvm.alloca %0 x i32 : (i64) -> !llvm.ptr
    llvm.store %10, %11 : i32, !llvm.ptr
    %12 = llvm.trunc %arg9 : i64 to i32
    %13 = llvm.alloca %0 x i32 : (i64) -> !llvm.ptr
    llvm.store %12, %13 : i32, !llvm.ptr
    %14 = llvm.alloca %0 x f64 : (i64) -> !llvm.ptr
    llvm.store %arg10, %14 : f64, !llvm.ptr
    %15 = llvm.trunc %arg12 : i64 to i32
    %16 = llvm.alloca %0 x i32 : (i64) -> !llvm.ptr
    llvm.store %15, %16 : i32, !llvm.ptr
    call @diastase_import__blas__dgemm(%1, %2, %4, %6, %8, %9, %arg6, %11, %arg8, %13, %14, %arg11, %16) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    return
  }
}
