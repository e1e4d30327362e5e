func.func @f(%t: tensor<9xf64>) -> tensor<9xf64> {
  %e = tensor.empty() : tensor<9xf64>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<9xf64>) {
  ^bb0(%out: f64):
    %i = linalg.index 0 : index
    %x = tensor.extract %t[%i] : tensor<9xf64>
    linalg.yield %x : f64
  } -> tensor<9xf64>
  return %0 : tensor<9xf64>
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: tensor<9xf64>) -> tensor<9xf64> {
    %0 = tensor.empty() : tensor<9xf64>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<9xf64>) outs(%0 : tensor<9xf64>) {
    ^bb0(%in: f64, %out: f64):
      %2 = linalg.index 0 : index
      linalg.yield %in : f64
    } -> tensor<9xf64>
    return %1 : tensor<9xf64>
  }
}
