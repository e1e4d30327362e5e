func.func @diastase_entry(%context: !llvm.ptr, %x: memref<400000xf64>, %y: memref<400000xf64>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%x : memref<400000xf64>) outs(%y : memref<400000xf64>) {
  ^bb0(%in: f64, %out: f64):
    %0 = math.sin %in : f64
    linalg.yield %0 : f64
  }
  return
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func private @diastase_import__threads__parallel_for(!llvm.ptr, !llvm.ptr, i64, i64)
  func.func private @diastase_loop_0(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64, %arg3: i64) {
    %0 = llvm.load %arg0 : !llvm.ptr -> !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>
    %1 = arith.index_cast %arg1 : i64 to index
    %2 = arith.index_cast %arg2 : i64 to index
    %3 = llvm.extractvalue %0[0, 1] : !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    %4 = llvm.extractvalue %0[1, 1] : !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    call @diastase_loop_0_part(%0, %1, %2, %3, %4) : (!llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>, index, index, !llvm.ptr, !llvm.ptr) -> ()
    return
  }
  func.func private @diastase_loop_0_part(%arg0: !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>, %arg1: index, %arg2: index, %arg3: !llvm.ptr, %arg4: !llvm.ptr) attributes {llvm.always_inline} {
    %0 = llvm.extractvalue %arg0[0] : !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    %1 = llvm.insertvalue %arg3, %0[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
    %2 = llvm.insertvalue %arg3, %1[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
    %3 = builtin.unrealized_conversion_cast %2 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<400000xf64>
    %4 = llvm.extractvalue %arg0[1] : !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    %5 = llvm.insertvalue %arg4, %4[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
    %6 = llvm.insertvalue %arg4, %5[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> 
    %7 = builtin.unrealized_conversion_cast %6 : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<400000xf64>
    %8 = arith.subi %arg2, %arg1 : index
    %subview = memref.subview %3[%arg1] [%8] [1] : memref<400000xf64> to memref<?xf64, strided<[1], offset: ?>>
    %subview_0 = memref.subview %7[%arg1] [%8] [1] : memref<400000xf64> to memref<?xf64, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%subview : memref<?xf64, strided<[1], offset: ?>>) outs(%subview_0 : memref<?xf64, strided<[1], offset: ?>>) {
    ^bb0(%in: f64, %out: f64):
      %9 = math.sin %in : f64
      linalg.yield %9 : f64
    }
    return
  }
  func.func @diastase_entry(%arg0: !llvm.ptr, %arg1: memref<400000xf64>, %arg2: memref<400000xf64>) {
    %c10_i64 = arith.constant 10 : i64
    %0 = llvm.alloca %c10_i64 x i64 : (i64) -> !llvm.ptr
    %c400000 = arith.constant 400000 : index
    %c8320 = arith.constant 8320 : index
    %1 = llvm.mlir.undef : !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>
    %2 = builtin.unrealized_conversion_cast %arg1 : memref<400000xf64> to !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %3 = llvm.insertvalue %2, %1[0] : !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    %4 = builtin.unrealized_conversion_cast %arg2 : memref<400000xf64> to !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %5 = llvm.insertvalue %4, %3[1] : !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)> 
    llvm.store %5, %0 : !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>, !llvm.ptr
    %6 = arith.index_cast %c400000 : index to i64
    %7 = arith.index_cast %c8320 : index to i64
    %f = constant @diastase_loop_0 : (!llvm.ptr, i64, i64, i64) -> ()
    %8 = builtin.unrealized_conversion_cast %f : (!llvm.ptr, i64, i64, i64) -> () to !llvm.ptr
    call @diastase_import__threads__parallel_for(%8, %0, %6, %7) : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
    return
  }
}
