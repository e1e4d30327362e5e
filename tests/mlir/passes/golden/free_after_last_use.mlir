func.func @f(%a: memref<999xf64>, %b: memref<999xf64>) {
  %0 = memref.alloc() : memref<999xf64>
  linalg.exp ins(%a : memref<999xf64>) outs(%0 : memref<999xf64>)
  %1 = memref.alloc() : memref<999xf64>
  linalg.exp ins(%0 : memref<999xf64>) outs(%1 : memref<999xf64>)
  linalg.exp ins(%1 : memref<999xf64>) outs(%b : memref<999xf64>)
  memref.dealloc %0 : memref<999xf64>
  memref.dealloc %1 : memref<999xf64>
  return
}

// becomes
module {
  func.func @f(%arg0: memref<999xf64>, %arg1: memref<999xf64>) {
    %alloc = memref.alloc() : memref<999xf64>
    linalg.exp ins(%arg0 : memref<999xf64>) outs(%alloc : memref<999xf64>)
    %alloc_0 = memref.alloc() : memref<999xf64>
    linalg.exp ins(%alloc : memref<999xf64>) outs(%alloc_0 : memref<999xf64>)
    memref.dealloc %alloc : memref<999xf64>
    linalg.exp ins(%alloc_0 : memref<999xf64>) outs(%arg1 : memref<999xf64>)
    memref.dealloc %alloc_0 : memref<999xf64>
    return
  }
}
