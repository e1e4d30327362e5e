"""Linear algebra by LAPACK, the one that SciPy brings and JAX itself uses on the CPU.

So results are JAX's to the last bit, except for the order of additions in what surrounds a call.
`batch` is the way to a routine, `arguments` what it is given; the other modules are rules, one
topic each. Signs, pivots from 0 and NaN where a routine fails are those of JAX's primitives.
"""

from diastase_mlir.lowering.linear_algebra import (
    cholesky,
    eigen,
    lu,
    qr,
    schur,
    solve,
    svd,
    tridiagonal,
)

__all__ = ["cholesky", "eigen", "lu", "qr", "schur", "solve", "svd", "tridiagonal"]
