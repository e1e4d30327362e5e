// What a loop resizes starts from an array whose size no fold may see.
func.func @f(%a: tensor<3xf64>, %n: index, %zero: index, %one: index) -> tensor<?xf64> {
  %known = tensor.cast %a : tensor<3xf64> to tensor<?xf64>
  %true = arith.constant true
  %start = builtin.unrealized_conversion_cast %known, %true : tensor<?xf64>, i1 to tensor<?xf64>
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %start) -> tensor<?xf64> {
    %y = tensor.concat dim(0) %x, %x : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
    scf.yield %y : tensor<?xf64>
  }
  return %r : tensor<?xf64>
}

// becomes
module {
  func.func @f(%arg0: tensor<3xf64>, %arg1: index, %arg2: index, %arg3: index) -> tensor<?xf64> {
    %cast = tensor.cast %arg0 : tensor<3xf64> to tensor<?xf64>
    %true = arith.constant true
    %0 = scf.for %arg4 = %arg2 to %arg1 step %arg3 iter_args(%arg5 = %cast) -> (tensor<?xf64>) {
      %concat = tensor.concat dim(0) %arg5, %arg5 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
      scf.yield %concat : tensor<?xf64>
    }
    return %0 : tensor<?xf64>
  }
}
