// A short body runs many times between two polls.
func.func private @diastase_import__threads__poll(!llvm.ptr)
func.func @f(%context: !llvm.ptr, %x: f64, %n: index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> f64 {
    func.call @diastase_import__threads__poll(%context) : (!llvm.ptr) -> ()
    %b = arith.mulf %a, %x : f64
    scf.yield %b : f64
  }
  return %r : f64
}

// becomes
module {
  func.func private @diastase_import__threads__poll_now(!llvm.ptr)
  func.func private @diastase_import__threads__poll(!llvm.ptr)
  func.func @f(%arg0: !llvm.ptr, %arg1: f64, %arg2: index) -> f64 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0:2 = scf.while (%arg3 = %c0, %arg4 = %arg1) : (index, f64) -> (index, f64) {
      %1 = arith.cmpi eq, %arg3, %c0 : index
      %2 = llvm.getelementptr %arg0[0] : (!llvm.ptr) -> !llvm.ptr, i8
      %3 = llvm.load %2 : !llvm.ptr -> i64
      %c0_i64 = arith.constant 0 : i64
      %4 = arith.cmpi eq, %3, %c0_i64 : i64
      %5 = arith.ori %1, %4 : i1
      %6 = arith.cmpi slt, %arg3, %arg2 : index
      %7 = arith.andi %6, %5 : i1
      scf.condition(%7) %arg3, %arg4 : index, f64
    } do {
    ^bb0(%arg3: index, %arg4: f64):
      %1 = arith.subi %arg2, %arg3 : index
      %c4096 = arith.constant 4096 : index
      %2 = arith.minui %1, %c4096 : index
      %3 = arith.addi %arg3, %2 overflow<nsw> : index
      %4 = scf.for %arg5 = %arg3 to %3 step %c1 iter_args(%arg6 = %arg4) -> (f64) {
        %6 = arith.mulf %arg6, %arg1 : f64
        scf.yield %6 : f64
      }
      %5 = arith.cmpi slt, %3, %arg2 : index
      scf.if %5 {
        func.call @diastase_import__threads__poll_now(%arg0) : (!llvm.ptr) -> ()
      }
      scf.yield %3, %4 : index, f64
    }
    return %0#1 : f64
  }
}
