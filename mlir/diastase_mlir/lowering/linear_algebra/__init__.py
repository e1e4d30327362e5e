"""Rules for JAX's primitives of linear algebra.

Those for which there are routines of LAPACK become operations of the `runtime` dialect
(`routines`), which a pass makes calls of (`passes/linear_algebra`); the other modules are programs
of JAX in place of a primitive.
"""
