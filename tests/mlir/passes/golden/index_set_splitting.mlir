// A test of the position becomes two loops without a test.
func.func @f(%a: memref<9000xf64>, %b: memref<9000xf64>) {
  %hundred = arith.constant 100 : index
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
    ins(%a : memref<9000xf64>) outs(%b : memref<9000xf64>) {
  ^bb0(%in: f64, %out: f64):
    %i = linalg.index 0 : index
    %0 = arith.cmpi slt, %i, %hundred : index
    %1 = arith.negf %in : f64
    %2 = arith.select %0, %1, %in : f64
    linalg.yield %2 : f64
  }
  return
}

// becomes
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: memref<9000xf64>, %arg1: memref<9000xf64>) {
    %c100 = arith.constant 100 : index
    %subview = memref.subview %arg0[0] [100] [1] : memref<9000xf64> to memref<100xf64, strided<[1]>>
    %subview_0 = memref.subview %arg1[0] [100] [1] : memref<9000xf64> to memref<100xf64, strided<[1]>>
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%subview : memref<100xf64, strided<[1]>>) outs(%subview_0 : memref<100xf64, strided<[1]>>) {
    ^bb0(%in: f64, %out: f64):
      %0 = linalg.index 0 : index
      %true = arith.constant true
      %1 = arith.negf %in : f64
      linalg.yield %1 : f64
    }
    %subview_1 = memref.subview %arg0[100] [8900] [1] : memref<9000xf64> to memref<8900xf64, strided<[1], offset: 100>>
    %subview_2 = memref.subview %arg1[100] [8900] [1] : memref<9000xf64> to memref<8900xf64, strided<[1], offset: 100>>
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%subview_1 : memref<8900xf64, strided<[1], offset: 100>>) outs(%subview_2 : memref<8900xf64, strided<[1], offset: 100>>) {
    ^bb0(%in: f64, %out: f64):
      %0 = linalg.index 0 : index
      %c100_3 = arith.constant 100 : index
      %1 = arith.addi %0, %c100_3 : index
      %false = arith.constant false
      %2 = arith.negf %in : f64
      linalg.yield %in : f64
    }
    return
  }
}
