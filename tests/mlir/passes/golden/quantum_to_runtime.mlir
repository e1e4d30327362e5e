func.func @diastase_entry(%context: !llvm.ptr, %angle: f64) -> f64 {
  %0 = quantum.alloc 2 : i64 {site = 0}
  %1 = quantum.extract %0[0 : i64]
  %2 = quantum.gate "RX"(%angle : f64) %1 {site = 1}
  %3 = quantum.insert %2, %0[0 : i64]
  quantum.release(%3) : (!quantum.register) -> ()
  return %angle : f64
}

// becomes
module {
  func.func private @diastase_import__engine__state_create(!llvm.ptr, i64, i64) -> !llvm.ptr
  func.func private @diastase_import__engine__gate(!llvm.ptr, !llvm.ptr, i64, i64, i64, i64, f64, f64, f64)
  func.func private @diastase_import__engine__state_release(!llvm.ptr, !llvm.ptr)
  func.func @diastase_entry(%arg0: !llvm.ptr, %arg1: f64) -> f64 {
    %cst = arith.constant 0.000000e+00 : f64
    %c11_i64 = arith.constant 11 : i64
    %c1_i64 = arith.constant 1 : i64
    %c0_i64 = arith.constant 0 : i64
    %c2_i64 = arith.constant 2 : i64
    %0 = call @diastase_import__engine__state_create(%arg0, %c0_i64, %c2_i64) : (!llvm.ptr, i64, i64) -> !llvm.ptr
    %c0_i64_0 = arith.constant 0 : i64
    call @diastase_import__engine__gate(%arg0, %0, %c1_i64, %c11_i64, %c0_i64_0, %c0_i64, %arg1, %cst, %cst) : (!llvm.ptr, !llvm.ptr, i64, i64, i64, i64, f64, f64, f64) -> ()
    %c0_i64_1 = arith.constant 0 : i64
    call @diastase_import__engine__state_release(%arg0, %0) : (!llvm.ptr, !llvm.ptr) -> ()
    return %arg1 : f64
  }
}
