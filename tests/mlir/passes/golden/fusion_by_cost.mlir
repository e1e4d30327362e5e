// The exponentials of a row are made once, not for each row that reads them.
func.func @f(%x: tensor<9xf64>, %m: tensor<99x9xf64>) -> tensor<99x9xf64> {
  %e = tensor.empty() : tensor<9xf64>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<9xf64>) outs(%e : tensor<9xf64>) {
  ^bb0(%in: f64, %out: f64):
    %y = math.exp %in : f64
    linalg.yield %y : f64
  } -> tensor<9xf64>
  %f = tensor.empty() : tensor<99x9xf64>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%0, %m : tensor<9xf64>, tensor<99x9xf64>) outs(%f : tensor<99x9xf64>) {
  ^bb0(%a: f64, %b: f64, %out: f64):
    %y = arith.mulf %a, %b : f64
    linalg.yield %y : f64
  } -> tensor<99x9xf64>
  return %1 : tensor<99x9xf64>
}

// becomes
#map = affine_map<(d0) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d1)>
#map2 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @f(%arg0: tensor<9xf64>, %arg1: tensor<99x9xf64>) -> tensor<99x9xf64> {
    %0 = tensor.empty() : tensor<9xf64>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<9xf64>) outs(%0 : tensor<9xf64>) {
    ^bb0(%in: f64, %out: f64):
      %5 = math.exp %in : f64
      linalg.yield %5 : f64
    } -> tensor<9xf64>
    %2 = tensor.empty() : tensor<99x9xf64>
    %true = arith.constant true
    %3 = builtin.unrealized_conversion_cast %1, %true : tensor<9xf64>, i1 to tensor<9xf64>
    %4 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel"]} ins(%3, %arg1 : tensor<9xf64>, tensor<99x9xf64>) outs(%2 : tensor<99x9xf64>) {
    ^bb0(%in: f64, %in_0: f64, %out: f64):
      %5 = arith.mulf %in, %in_0 : f64
      linalg.yield %5 : f64
    } -> tensor<99x9xf64>
    return %4 : tensor<99x9xf64>
  }
}
