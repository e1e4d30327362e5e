// Each message is told once; functions that the thread pool runs have no call to abandon.
func.func private @diastase_import__threads__parallel_for(!llvm.ptr, (!llvm.ptr, index, index) -> ())
func.func @element(%context: !llvm.ptr, %i: index, %n: index) {
  %inside = arith.cmpi slt, %i, %n : index
  cf.assert %inside, "ERROR: Runtime op verification failed\nmemref.load of 3 numbers\n^ out-of-bounds access\nLocation: x"
  return
}
func.func @f(%context: !llvm.ptr, %i: index, %n: index) {
  %inside = arith.cmpi slt, %i, %n : index
  cf.assert %inside, "ERROR: Runtime op verification failed\nmemref.load of 3 numbers\n^ out-of-bounds access\nLocation: x"
  cf.assert %inside, "another"
  %piece = func.constant @element : (!llvm.ptr, index, index) -> ()
  func.call @diastase_import__threads__parallel_for(%context, %piece) : (!llvm.ptr, (!llvm.ptr, index, index) -> ()) -> ()
  return
}

// becomes
module {
  func.func private @diastase_check_failed(!llvm.ptr)
  func.func private @diastase_check_failed_on_thread(!llvm.ptr)
  llvm.mlir.global internal constant @diastase_message_1("another\00") {addr_space = 0 : i32}
  llvm.mlir.global internal constant @diastase_message_0("out-of-bounds access: memref.load of 3 numbers\00") {addr_space = 0 : i32}
  func.func private @diastase_import__threads__parallel_for(!llvm.ptr, (!llvm.ptr, index, index) -> ())
  func.func @element(%arg0: !llvm.ptr, %arg1: index, %arg2: index) {
    %0 = arith.cmpi slt, %arg1, %arg2 : index
    %true = arith.constant true
    %1 = arith.xori %0, %true : i1
    %2 = llvm.mlir.addressof @diastase_message_0 : !llvm.ptr
    scf.if %1 {
      func.call @diastase_check_failed_on_thread(%2) : (!llvm.ptr) -> ()
    }
    return
  }
  func.func @f(%arg0: !llvm.ptr, %arg1: index, %arg2: index) {
    %0 = arith.cmpi slt, %arg1, %arg2 : index
    %true = arith.constant true
    %1 = arith.xori %0, %true : i1
    %2 = llvm.mlir.addressof @diastase_message_0 : !llvm.ptr
    scf.if %1 {
      func.call @diastase_check_failed(%2) : (!llvm.ptr) -> ()
    }
    %true_0 = arith.constant true
    %3 = arith.xori %0, %true_0 : i1
    %4 = llvm.mlir.addressof @diastase_message_1 : !llvm.ptr
    scf.if %3 {
      func.call @diastase_check_failed(%4) : (!llvm.ptr) -> ()
    }
    %f = constant @element : (!llvm.ptr, index, index) -> ()
    call @diastase_import__threads__parallel_for(%arg0, %f) : (!llvm.ptr, (!llvm.ptr, index, index) -> ()) -> ()
    return
  }
}
