func.func @diastase_entry(%a: tensor<?xf64>) -> index {
  runtime.poll() : () -> ()
  %0 = runtime.dim(%a) {axis = 0 : i64} : (tensor<?xf64>) -> tensor<i64>
  %1 = runtime.scalar(%0) : (tensor<i64>) -> index
  return %1 : index
}

// becomes
module {
  func.func private @diastase_import__threads__poll(!llvm.ptr)
  func.func @diastase_entry(%arg0: !llvm.ptr, %arg1: tensor<?xf64> {bufferization.writable = false}) -> index attributes {llvm.emit_c_interface} {
    call @diastase_import__threads__poll(%arg0) : (!llvm.ptr) -> ()
    %0 = runtime.dim(%arg1) {axis = 0 : i64} : (tensor<?xf64>) -> tensor<i64>
    %1 = runtime.scalar(%0) : (tensor<i64>) -> index
    return %1 : index
  }
}
