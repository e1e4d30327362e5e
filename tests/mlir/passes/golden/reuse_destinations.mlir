// The loop carries on an array that it updates in place.
func.func @f(%a: tensor<9xf64>, %zero: index, %n: index, %one: index) -> tensor<9xf64> {
  %e = tensor.empty() : tensor<9xf64>
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %a) -> tensor<9xf64> {
    %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<9xf64>) outs(%e : tensor<9xf64>) {
    ^bb0(%in: f64, %out: f64):
      %y = arith.negf %in : f64
      linalg.yield %y : f64
    } -> tensor<9xf64>
    scf.yield %0 : tensor<9xf64>
  }
  return %r : tensor<9xf64>
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: tensor<9xf64>, %arg1: index, %arg2: index, %arg3: index) -> tensor<9xf64> {
    %0 = tensor.empty() : tensor<9xf64>
    %1 = scf.for %arg4 = %arg1 to %arg2 step %arg3 iter_args(%arg5 = %arg0) -> (tensor<9xf64>) {
      %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg5 : tensor<9xf64>) outs(%arg5 : tensor<9xf64>) {
      ^bb0(%in: f64, %out: f64):
        %3 = arith.negf %in : f64
        linalg.yield %3 : f64
      } -> tensor<9xf64>
      scf.yield %2 : tensor<9xf64>
    }
    return %1 : tensor<9xf64>
  }
}
