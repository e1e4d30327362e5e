"""Compiled functions inside of JAX's own transformations: `jax.jit(f)`, `jax.grad(f)`, ….

A `QJIT` that is called with tracers of plain JAX becomes one equation there, `program`. What JAX
asks of the equation (a derivative, a transpose, a batch) is a `program` again: the user's function
transformed by JAX under our tracing, and compiled by us. XLA calls the compiled code through its
foreign function interface, without Python.

    bind.py              from a call with tracers to the equation
    primitive.py         the equation and its rules
    embedded_program.py  what an equation stands for; the programs that are derived from it
    xla.py               how XLA calls a program: there, and for us where there are many arrays
    autograd_calls.py    the same for autograd, which `pennylane.numpy` differentiates with

Imported when the first such call is made.
"""
