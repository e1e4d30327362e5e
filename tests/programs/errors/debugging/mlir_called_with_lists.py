from diastase import debug


def program():
    f = debug.compile_from_mlir("""
        func.func @same(%x: tensor<?x?xf64>) -> tensor<?x?xf64> {
            return %x : tensor<?x?xf64>
        }""")
    f([[1.0], [2.0, 3.0]])
