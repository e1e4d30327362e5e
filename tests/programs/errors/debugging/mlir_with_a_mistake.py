from diastase import debug

TEXT = """
func.func @f(%x: tensor<f64>) -> tensor<f64> {
    %y = stablehlo.ad %x, %x : tensor<f64>
    return %y : tensor<f64>
}"""


def program():
    debug.compile_from_mlir(TEXT)
