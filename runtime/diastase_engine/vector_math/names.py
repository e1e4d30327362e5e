"""Elementary functions of arrays that are ours: passes call them, `vector_math` has them."""

ELEMENTARY_FUNCTIONS = ("exp", "expm1", "tanh", "log", "log1p", "sin", "cos", "tan")
"""As the operations of MLIR's `math` dialect and the functions of the C library are called."""
