// Each element is halved until it is small: the loop of all is a loop of each.
#row = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func @f(%a: tensor<9xf64>) -> tensor<9xf64> {
  %false = arith.constant false
  %half = arith.constant 0.5 : f64
  %e = tensor.empty() : tensor<9xf64>
  %w = scf.while (%x = %a) : (tensor<9xf64>) -> tensor<9xf64> {
    %i = tensor.empty() : tensor<i1>
    %none = linalg.fill ins(%false : i1) outs(%i : tensor<i1>) -> tensor<i1>
    %b = tensor.empty() : tensor<9xi1>
    %on = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%x : tensor<9xf64>) outs(%b : tensor<9xi1>) {
    ^bb0(%in: f64, %out: i1):
      %asks = arith.cmpf ogt, %in, %half : f64
      linalg.yield %asks : i1
    } -> tensor<9xi1>
    %r = linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]}
      ins(%on : tensor<9xi1>) outs(%none : tensor<i1>) {
    ^bb0(%in: i1, %out: i1):
      %o = arith.ori %out, %in : i1
      linalg.yield %o : i1
    } -> tensor<i1>
    %any = tensor.extract %r[] : tensor<i1>
    scf.condition(%any) %x : tensor<9xf64>
  } do {
  ^bb0(%x: tensor<9xf64>):
    %new = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%x : tensor<9xf64>) outs(%e : tensor<9xf64>) {
    ^bb0(%in: f64, %out: f64):
      %asks = arith.cmpf ogt, %in, %half : f64
      %h = arith.mulf %in, %half : f64
      %t = arith.select %asks, %h, %in : f64
      linalg.yield %t : f64
    } -> tensor<9xf64>
    scf.yield %new : tensor<9xf64>
  }
  return %w : tensor<9xf64>
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: tensor<9xf64>) -> tensor<9xf64> {
    %false = arith.constant false
    %cst = arith.constant 5.000000e-01 : f64
    %0 = tensor.empty() : tensor<9xf64>
    %1 = tensor.empty() : tensor<i1>
    %2 = linalg.fill ins(%false : i1) outs(%1 : tensor<i1>) -> tensor<i1>
    %3 = tensor.empty() : tensor<9xi1>
    %4 = tensor.empty() : tensor<9xf64>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<9xf64>) outs(%4 : tensor<9xf64>) {
    ^bb0(%in: f64, %out: f64):
      %7 = scf.while (%arg1 = %in) : (f64) -> f64 {
        %8 = arith.cmpf ogt, %arg1, %cst : f64
        scf.condition(%8) %arg1 : f64
      } do {
      ^bb0(%arg1: f64):
        %8 = arith.cmpf ogt, %arg1, %cst : f64
        %9 = arith.mulf %arg1, %cst : f64
        %10 = arith.select %8, %9, %arg1 : f64
        scf.yield %10 : f64
      }
      linalg.yield %7 : f64
    } -> tensor<9xf64>
    %true = arith.constant true
    %6 = builtin.unrealized_conversion_cast %5, %true : tensor<9xf64>, i1 to tensor<9xf64>
    return %6 : tensor<9xf64>
  }
}
