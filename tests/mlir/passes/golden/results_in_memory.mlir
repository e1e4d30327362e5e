func.func @diastase_entry(%context: !llvm.ptr, %a: memref<3xf64>) -> (memref<3xf64>, memref<f64>) {
  %0 = memref.alloc() : memref<3xf64>
  linalg.exp ins(%a : memref<3xf64>) outs(%0 : memref<3xf64>)
  %1 = memref.alloc() : memref<f64>
  return %0, %1 : memref<3xf64>, memref<f64>
}

// becomes
module {
  func.func @diastase_entry(%arg0: !llvm.ptr, %arg1: memref<3xf64>, %arg2: !llvm.ptr) {
    %alloc = memref.alloc() : memref<3xf64>
    %0 = builtin.unrealized_conversion_cast %alloc : memref<3xf64> to !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %1 = llvm.getelementptr %arg2[0] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %0, %1 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, !llvm.ptr
    linalg.exp ins(%arg1 : memref<3xf64>) outs(%alloc : memref<3xf64>)
    %alloc_0 = memref.alloc() : memref<f64>
    %2 = builtin.unrealized_conversion_cast %alloc_0 : memref<f64> to !llvm.struct<(ptr, ptr, i64)>
    %3 = llvm.getelementptr %arg2[40] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store %2, %3 : !llvm.struct<(ptr, ptr, i64)>, !llvm.ptr
    return
  }
}
