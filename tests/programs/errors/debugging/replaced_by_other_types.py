from diastase import debug, qjit


def program():
    @qjit
    def square(x: float):
        return x * x

    text = debug.get_compilation_stage(square, "mlir")
    debug.replace_ir(square, "mlir", text.replace("f64", "f32"))
