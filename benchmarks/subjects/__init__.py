"""One file for each system that is measured; imported only in that system's environment.

A subject has `prepare(program, case)`, which returns a function: it runs once, waits until the
result is there, and gives the result, anything that `numpy` makes an array of. `versions()` names
what was measured. Cases of kind `compile` call `compiler(program, case)` instead, which returns
a function from a number to a new program; that is a function without arguments, which compiles and
calls it once. Only this is timed: the program's device, which PennyLane makes and whose plugin it
imports, and its arguments are there before.
"""
