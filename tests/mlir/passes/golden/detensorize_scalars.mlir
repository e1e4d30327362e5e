func.func @f(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
  %0 = tensor.empty() : tensor<f64>
  %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
    ins(%x, %y : tensor<f64>, tensor<f64>) outs(%0 : tensor<f64>) {
  ^bb0(%a: f64, %b: f64, %out: f64):
    %2 = arith.addf %a, %b : f64
    linalg.yield %2 : f64
  } -> tensor<f64>
  return %1 : tensor<f64>
}

// becomes
module {
  func.func @f(%arg0: tensor<f64>, %arg1: tensor<f64>) -> tensor<f64> {
    %0 = tensor.empty() : tensor<f64>
    %extracted = tensor.extract %arg0[] : tensor<f64>
    %extracted_0 = tensor.extract %arg1[] : tensor<f64>
    %1 = arith.addf %extracted, %extracted_0 : f64
    %from_elements = tensor.from_elements %1 : tensor<f64>
    return %from_elements : tensor<f64>
  }
}
