"""Linear algebra by LAPACK, the one that SciPy brings and JAX itself uses on the CPU.

So results are JAX's to the last bit, except for the order of additions in what surrounds a call.
`batch` is the way to a routine, `arguments` what it is given; the other modules are rules, one
topic each, imported for programs that have such equations. Signs, pivots from 0 and NaN where a
routine fails are those of JAX's primitives.
"""
