func.func private @diastase_element_0(%context: !llvm.ptr, %number: i64, %wires: i64, %x: f64, %out: memref<?xf64>) {
  %i = arith.index_cast %number : i64 to index
  memref.store %x, %out[%i] : memref<?xf64>
  return
}
func.func @diastase_entry(%context: !llvm.ptr, %count: i64, %wires: i64, %x: f64, %out: memref<?xf64>) {
  func.call @diastase_element_0(%context, %count, %wires, %x, %out) : (!llvm.ptr, i64, i64, f64, memref<?xf64>) -> ()
  return
}

// becomes
module {
  func.func private @diastase_after_elements(!llvm.ptr)
  func.func private @diastase_import__threads__for_each_element(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64)
  func.func private @diastase_element_0_entry(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: i64) {
    %0 = llvm.load %arg1 : !llvm.ptr -> !llvm.struct<(f64, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>
    %1 = llvm.extractvalue %0[1, 1] : !llvm.struct<(f64, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    %2 = llvm.extractvalue %0[0] : !llvm.struct<(f64, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    %3 = llvm.extractvalue %0[1] : !llvm.struct<(f64, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    %4 = llvm.insertvalue %1, %3[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
    %5 = llvm.insertvalue %1, %4[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
    %6 = builtin.unrealized_conversion_cast %5 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<?xf64>
    %c0_i64 = arith.constant 0 : i64
    call @diastase_element_0(%arg0, %arg2, %c0_i64, %2, %6) : (!llvm.ptr, i64, i64, f64, memref<?xf64>) -> ()
    return
  }
  func.func private @diastase_element_0(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64, %arg3: f64, %arg4: memref<?xf64>) {
    %0 = arith.index_cast %arg1 : i64 to index
    memref.store %arg3, %arg4[%0] : memref<?xf64>
    return
  }
  func.func @diastase_entry(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64, %arg3: f64, %arg4: memref<?xf64>) {
    %c7_i64 = arith.constant 7 : i64
    %0 = llvm.alloca %c7_i64 x i64 : (i64) -> !llvm.ptr
    %1 = llvm.mlir.undef : !llvm.struct<(f64, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>
    %2 = llvm.insertvalue %arg3, %1[0] : !llvm.struct<(f64, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    %3 = builtin.unrealized_conversion_cast %arg4 : memref<?xf64> to !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %4 = llvm.insertvalue %3, %2[1] : !llvm.struct<(f64, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    llvm.store %4, %0 : !llvm.struct<(f64, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>, !llvm.ptr
    %f = constant @diastase_element_0_entry : (!llvm.ptr, !llvm.ptr, i64) -> ()
    %5 = builtin.unrealized_conversion_cast %f : (!llvm.ptr, !llvm.ptr, i64) -> () to !llvm.ptr
    call @diastase_import__threads__for_each_element(%arg0, %5, %0, %arg1, %arg2) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> ()
    call @diastase_after_elements(%arg0) : (!llvm.ptr) -> ()
    return
  }
}
