// A pass of MLIR would end the process on this.
func.func @f(%x: tensor<?xf64>) -> tensor<?xf64> {
  %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<?xf64>
  return %0 : tensor<?xf64>
}

// becomes
// an error: stablehlo.reduce_precision of an array of unknown size
