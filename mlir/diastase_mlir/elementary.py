"""Elementary functions of arrays that are ours: passes call them, `kernels.elementary` has them."""

FUNCTIONS = ("exp", "expm1", "tanh", "log", "log1p", "sin", "cos", "tan")
"""As the operations of MLIR's `math` dialect and the functions of the C library are called."""
