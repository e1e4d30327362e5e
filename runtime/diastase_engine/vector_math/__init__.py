"""Elementary functions of floating-point arrays, of which passes know the names alone."""

ELEMENTARY_FUNCTIONS = ("exp", "expm1", "tanh", "log", "log1p", "cbrt", "sin", "cos", "tan")
"""As the operations of MLIR's `math` dialect and the functions of the C library are called."""
