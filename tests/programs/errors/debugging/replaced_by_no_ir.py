from diastase import debug, qjit


def program():
    @qjit
    def square(x: float):
        return x * x

    text = debug.get_compilation_stage(square, "scalars")
    debug.replace_ir(square, "scalars", text.replace("return", "retrun"))
