// A pass of diastase failed: operand #0 does not dominate this use
// rerun: /work/scratch/venv/bin/python -m diastase_mlir.reproducer /work/scratch/wt/passes/body/reproducer.mlir
// stage: transform-circuits
// pass: transform_circuits
#loc = loc(unknown)
module {
  func.func @diastase_entry(%arg0: !llvm.ptr loc(unknown)) -> tensor<f64> attributes {llvm.emit_c_interface} {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<1xf64> loc(#loc)
    %c2_i64 = arith.constant 2 : i64 loc(#loc)
    %0 = "quantum.alloc"(%c2_i64) {passes = [{name = "parameter_from_later", options = {}}], site = 0 : i64} : (i64) -> !quantum.register loc(#loc)
    %c0_i64 = arith.constant 0 : i64 loc(#loc3)
    %1 = "quantum.extract"(%0, %c0_i64) : (!quantum.register, i64) -> !quantum.bit loc(#loc3)
    %2 = "quantum.gate"(%1) {control_values = array<i1>, gate_name = "Hadamard", operandSegmentSizes = array<i32: 0, 1, 0>, site = 1 : i64} : (!quantum.bit) -> !quantum.bit loc(#loc3)
    %3 = "quantum.gate"(%2) {control_values = array<i1>, gate_name = "Hadamard", operandSegmentSizes = array<i32: 0, 1, 0>, site = 1 : i64} : (!quantum.bit) -> !quantum.bit loc(#loc3)
    %c1_i64 = arith.constant 1 : i64 loc(#loc3)
    %4 = "quantum.extract"(%0, %c1_i64) : (!quantum.register, i64) -> !quantum.bit loc(#loc3)
    %5:2 = "quantum.gate"(%3, %4) {control_values = array<i1>, gate_name = "CNOT", operandSegmentSizes = array<i32: 0, 2, 0>, site = 2 : i64} : (!quantum.bit, !quantum.bit) -> (!quantum.bit, !quantum.bit) loc(#loc3)
    %cst_0 = stablehlo.constant dense<3.000000e-01> : tensor<f64> loc(#loc)
    %cst_1 = arith.constant 3.000000e-01 : f64 loc(#loc3)
    %6 = "quantum.gate"(%cst_1, %5#1) {control_values = array<i1>, gate_name = "RX", operandSegmentSizes = array<i32: 1, 1, 0>, site = 3 : i64} : (f64, !quantum.bit) -> !quantum.bit loc(#loc3)
    %cst_2 = arith.constant dense<0> : tensor<1xi64> loc(#loc4)
    %c0_i64_3 = arith.constant 0 : i64 loc(#loc4)
    %7 = "quantum.insert"(%0, %c0_i64_3, %5#0) : (!quantum.register, i64, !quantum.bit) -> !quantum.register loc(#loc4)
    %c1_i64_4 = arith.constant 1 : i64 loc(#loc4)
    %8 = "quantum.insert"(%7, %c1_i64_4, %6) : (!quantum.register, i64, !quantum.bit) -> !quantum.register loc(#loc4)
    %9 = "quantum.expval_pauli"(%8, %cst, %cst_2) {offsets = array<i64: 0, 1>, paulis = array<i64: 3>, site = 4 : i64} : (!quantum.register, tensor<1xf64>, tensor<1xi64>) -> f64 loc(#loc4)
    %from_elements = tensor.from_elements %9 : tensor<f64> loc(#loc4)
    "quantum.release"(%8) : (!quantum.register) -> () loc(#loc)
    return %from_elements : tensor<f64> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("/work/scratch/wt/passes/../../passes_tmp/p6.py":6:0)
#loc2 = loc("/work/scratch/wt/passes/../../passes_tmp/p6.py":7:0)
#loc3 = loc("gate"(#loc1))
#loc4 = loc("expval_pauli"(#loc2))

