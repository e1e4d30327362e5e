func.func @f() -> memref<2305843009213693952xf64> {
  %0 = memref.alloc() : memref<2305843009213693952xf64>
  return %0 : memref<2305843009213693952xf64>
}

// becomes
// an error: an array of more than 2^62 bytes
