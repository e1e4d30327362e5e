func.func @f(%x: f64, %y: f64) -> (tensor<2xf64>, tensor<2xf64>) {
  %e = tensor.empty() : tensor<2xf64>
  %0 = linalg.fill ins(%x : f64) outs(%e : tensor<2xf64>) -> tensor<2xf64>
  %1 = linalg.fill ins(%y : f64) outs(%e : tensor<2xf64>) -> tensor<2xf64>
  return %0, %1 : tensor<2xf64>, tensor<2xf64>
}

// becomes
module {
  func.func @f(%arg0: f64, %arg1: f64) -> (tensor<2xf64>, tensor<2xf64>) {
    %0 = tensor.empty() : tensor<2xf64>
    %1 = linalg.fill ins(%arg0 : f64) outs(%0 : tensor<2xf64>) -> tensor<2xf64>
    %2 = tensor.empty() : tensor<2xf64>
    %3 = linalg.fill ins(%arg1 : f64) outs(%2 : tensor<2xf64>) -> tensor<2xf64>
    return %1, %3 : tensor<2xf64>, tensor<2xf64>
  }
}
