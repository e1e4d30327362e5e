"""Names of the targets of `stablehlo.custom_call` that programs hold."""

SITE = "diastase.site"
"""The place in the user's program where a call may fail, a parameter of it."""

LINEAR_ALGEBRA = "diastase.linear_algebra."
"""What stands before the name of one of JAX's primitives; `passes/linear_algebra` knows them."""

CALLBACK = "diastase.callback"
"""The target of calls of Python functions: from arrays, then vectors of sizes of those results of
which some are not known, to arrays. `backend_config`: the function's number, the place in the
user's program, and how many operands are arguments."""

WITH_DICTIONARY = 4
"""The version of `stablehlo.custom_call` whose configuration is a dictionary."""
