"""Compiled functions inside of JAX's own transformations: `jax.jit(f)`, `jax.grad(f)`, ….

A `QJIT` that is called with tracers of plain JAX becomes one equation there, `program`. What JAX
asks of the equation (a derivative, a transpose, a batch) is a `program` again: the user's function
transformed by JAX under our tracing, and compiled by us. XLA calls the compiled code through its
foreign function interface, without Python.

    calls.py      from a call with tracers to the equation
    closures.py   the same for functions that close over tracers
    programs.py   what an equation stands for; the programs that are derived from it
    primitive.py  the equation and its rules
    xla.py        its lowering, for XLA on the host's processor

XLA calls programs in the same way for us, where there are many arrays to make (`many_arrays.py`).

Imported when the first such call is made.
"""
