func.func @f(%a: memref<8xf64>, %b: memref<8xf64>, %zero: index, %n: index, %one: index) {
  scf.for %i = %zero to %n step %one {
    %0 = memref.alloc() : memref<8xf64>
    linalg.exp ins(%a : memref<8xf64>) outs(%0 : memref<8xf64>)
    linalg.exp ins(%0 : memref<8xf64>) outs(%b : memref<8xf64>)
    memref.dealloc %0 : memref<8xf64>
  }
  return
}

// becomes
module {
  func.func @f(%arg0: memref<8xf64>, %arg1: memref<8xf64>, %arg2: index, %arg3: index, %arg4: index) {
    %alloca = memref.alloca() : memref<8xf64>
    scf.for %arg5 = %arg2 to %arg3 step %arg4 {
      linalg.exp ins(%arg0 : memref<8xf64>) outs(%alloca : memref<8xf64>)
      linalg.exp ins(%alloca : memref<8xf64>) outs(%arg1 : memref<8xf64>)
    }
    return
  }
}
