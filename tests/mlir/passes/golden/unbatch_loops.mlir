// A counted loop over an array is one of each element.
#row = affine_map<(i) -> (i)>
func.func @f(%a: tensor<?xf64>, %size: index, %n: index) -> tensor<?xf64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %e = tensor.empty(%size) : tensor<?xf64>
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %a) -> (tensor<?xf64>) {
    %0 = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf64>) outs(%e : tensor<?xf64>) {
    ^bb0(%in: f64, %out: f64):
      %y = math.sin %in : f64
      linalg.yield %y : f64
    } -> tensor<?xf64>
    scf.yield %0 : tensor<?xf64>
  }
  return %r : tensor<?xf64>
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: tensor<?xf64>, %arg1: index, %arg2: index) -> tensor<?xf64> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = tensor.empty(%arg1) : tensor<?xf64>
    %c0_0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0_0 : tensor<?xf64>
    %1 = tensor.empty(%dim) : tensor<?xf64>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<?xf64>) outs(%1 : tensor<?xf64>) {
    ^bb0(%in: f64, %out: f64):
      %4 = scf.for %arg3 = %c0 to %arg2 step %c1 iter_args(%arg4 = %in) -> (f64) {
        %5 = math.sin %arg4 : f64
        scf.yield %5 : f64
      }
      linalg.yield %4 : f64
    } -> tensor<?xf64>
    %true = arith.constant true
    %3 = builtin.unrealized_conversion_cast %2, %true : tensor<?xf64>, i1 to tensor<?xf64>
    return %3 : tensor<?xf64>
  }
}
