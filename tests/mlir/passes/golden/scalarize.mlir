func.func private @inner(%x: tensor<f64>, %a: tensor<5xf64>) -> tensor<f64> {
  %0 = stablehlo.sine %x : tensor<f64>
  %1 = stablehlo.slice %a [3:4] : (tensor<5xf64>) -> tensor<1xf64>
  %2 = stablehlo.reshape %1 : (tensor<1xf64>) -> tensor<f64>
  %3 = stablehlo.multiply %0, %2 : tensor<f64>
  return %3 : tensor<f64>
}
func.func @diastase_entry(%x: tensor<f64>, %a: tensor<5xf64>) -> tensor<f64> {
  %0 = call @inner(%x, %a) : (tensor<f64>, tensor<5xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// becomes
module {
  func.func private @inner(%arg0: f64, %arg1: tensor<5xf64>) -> f64 {
    %0 = math.sin %arg0 : f64
    %c3 = arith.constant 3 : index
    %extracted = tensor.extract %arg1[%c3] : tensor<5xf64>
    %1 = arith.mulf %0, %extracted : f64
    return %1 : f64
  }
  func.func @diastase_entry(%arg0: tensor<f64>, %arg1: tensor<5xf64>) -> tensor<f64> {
    %extracted = tensor.extract %arg0[] : tensor<f64>
    %0 = call @inner(%extracted, %arg1) : (f64, tensor<5xf64>) -> f64
    %from_elements = tensor.from_elements %0 : tensor<f64>
    return %from_elements : tensor<f64>
  }
}
