func.func @f(%a: tensor<3xf64>, %zero: index, %n: index, %one: index) -> (tensor<3xf64>, tensor<3xf64>) {
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%x = %a, %y = %a) -> (tensor<3xf64>, tensor<3xf64>) {
    %z = linalg.exp ins(%x : tensor<3xf64>) outs(%y : tensor<3xf64>) -> tensor<3xf64>
    scf.yield %z, %z : tensor<3xf64>, tensor<3xf64>
  }
  return %r#0, %r#1 : tensor<3xf64>, tensor<3xf64>
}

// becomes
module {
  func.func @f(%arg0: tensor<3xf64>, %arg1: index, %arg2: index, %arg3: index) -> (tensor<3xf64>, tensor<3xf64>) {
    %0:2 = scf.for %arg4 = %arg1 to %arg2 step %arg3 iter_args(%arg5 = %arg0, %arg6 = %arg0) -> (tensor<3xf64>, tensor<3xf64>) {
      %2 = linalg.exp ins(%arg5 : tensor<3xf64>) outs(%arg6 : tensor<3xf64>) -> tensor<3xf64>
      %3 = bufferization.alloc_tensor() copy(%2) : tensor<3xf64>
      scf.yield %2, %3 : tensor<3xf64>, tensor<3xf64>
    }
    %1 = bufferization.alloc_tensor() copy(%0#1) : tensor<3xf64>
    return %0#0, %1 : tensor<3xf64>, tensor<3xf64>
  }
}
