"""Names of the targets of `stablehlo.custom_call` that programs hold."""

SITE = "diastase.site"
"""The place in the user's program where a call may fail, a parameter of it."""

LINEAR_ALGEBRA = "diastase.linear_algebra."
"""What stands before the name of one of JAX's primitives; `passes/linear_algebra` knows them."""

CALLBACK = "diastase.callback"
"""The target of calls of Python functions: from arrays, then vectors of sizes of those results of
which some are not known, to arrays. `backend_config`: the function's number, the place in the
user's program, and how many operands are arguments."""

MAP = "diastase.map"
"""The target of a call of one function for each element of a batch, in any order and at the same
time: from the number of elements, what the function takes beside the number of one, and those sizes
of results that their types do not know, to arrays with an axis for the element first.
`backend_config`: how many operands are what the function takes, and `wires`, of the largest
register of an element, or `abi.ON_CALLING_THREAD`."""

CONCURRENT = "diastase.concurrent"
"""The target of calls of several functions at the same time: from what they take to what they give,
in their order. `backend_config`: `wires`, as above."""

WITH_DICTIONARY = 4
"""The version of `stablehlo.custom_call` whose configuration is a dictionary."""
