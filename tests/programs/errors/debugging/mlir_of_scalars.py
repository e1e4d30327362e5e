from diastase import debug

TEXT = "func.func @f(%x: f64) -> f64 { return %x : f64 }"


def program():
    debug.compile_from_mlir(TEXT)
