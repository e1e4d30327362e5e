// The other branch's array has strides of its own.
func.func @f(%p: i1, %a: tensor<2xf64>, %m: tensor<3x3xf64>) -> tensor<2xf64> {
  %r = scf.if %p -> tensor<2xf64> {
    scf.yield %a : tensor<2xf64>
  } else {
    %s = tensor.extract_slice %m[0, 0] [2, 1] [1, 1] : tensor<3x3xf64> to tensor<2x1xf64>
    %c = tensor.collapse_shape %s [[0, 1]] : tensor<2x1xf64> into tensor<2xf64>
    scf.yield %c : tensor<2xf64>
  }
  return %r : tensor<2xf64>
}

// becomes
module {
  func.func @f(%arg0: i1, %arg1: tensor<2xf64>, %arg2: tensor<3x3xf64>) -> tensor<2xf64> {
    %0 = scf.if %arg0 -> (tensor<2xf64>) {
      scf.yield %arg1 : tensor<2xf64>
    } else {
      %extracted_slice = tensor.extract_slice %arg2[0, 0] [2, 1] [1, 1] : tensor<3x3xf64> to tensor<2x1xf64>
      %collapsed = tensor.collapse_shape %extracted_slice [[0, 1]] : tensor<2x1xf64> into tensor<2xf64>
      %1 = bufferization.alloc_tensor() copy(%collapsed) : tensor<2xf64>
      scf.yield %1 : tensor<2xf64>
    }
    return %0 : tensor<2xf64>
  }
}
