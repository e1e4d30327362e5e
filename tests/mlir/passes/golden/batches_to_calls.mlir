func.func private @diastase_element_0(%number: tensor<i64>, %x: tensor<f64>) -> tensor<f64> {
  %0 = stablehlo.sine %x : tensor<f64>
  return %0 : tensor<f64>
}
func.func @diastase_entry(%x: tensor<f64>, %count: tensor<i64>) -> tensor<?xf64> {
  %0 = stablehlo.custom_call @diastase.map(%count, %x) {api_version = 4 : i32,
    called_computations = [@diastase_element_0], has_side_effect = true,
    backend_config = {arguments = 1 : i64, wires = 5 : i64}} : (tensor<i64>, tensor<f64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}

// becomes
module {
  func.func private @diastase_element_0(%arg0: tensor<i64>, %arg1: tensor<i64>, %arg2: tensor<f64>, %arg3: memref<?xf64>) {
    %0 = stablehlo.sine %arg2 : tensor<f64>
    %1 = runtime.scalar(%arg0) : (tensor<i64>) -> index
    %extracted = tensor.extract %0[] : tensor<f64>
    memref.store %extracted, %arg3[%1] : memref<?xf64>
    return
  }
  func.func @diastase_entry(%arg0: tensor<f64>, %arg1: tensor<i64>) -> tensor<?xf64> {
    %0 = runtime.scalar(%arg1) : (tensor<i64>) -> index
    %alloc = memref.alloc(%0) {alignment = 64 : i64} : memref<?xf64>
    %c = stablehlo.constant dense<5> : tensor<i64>
    call @diastase_element_0(%arg1, %c, %arg0, %alloc) : (tensor<i64>, tensor<i64>, tensor<f64>, memref<?xf64>) -> ()
    %1 = bufferization.to_tensor %alloc restrict writable : memref<?xf64> to tensor<?xf64>
    return %1 : tensor<?xf64>
  }
}
