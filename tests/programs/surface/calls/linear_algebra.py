"""`jax.numpy.linalg`, `jax.scipy.linalg`, `jax.lax.linalg` and the Fourier transforms."""

import jax.numpy as jnp
import jax.scipy.fft
import jax.scipy.linalg as sl
import jax.scipy.sparse.linalg as sparse
from jax.lax import linalg as ll

from programs.surface.table import calls, each

NUMPY_LINALG = {
    **each(
        jnp.linalg,
        "cholesky cond det eigh eigvalsh inv matrix_norm matrix_rank matrix_transpose norm"
        " pinv qr slogdet svd svdvals trace diagonal vector_norm",
        lambda f, a: f(a.spd),
    ),
    **each(jnp.linalg, "eig eigvals", lambda f, a: f(a.m)),
    **each(jnp.linalg, "matmul tensordot solve cross vecdot", lambda f, a: f(a.m, a.spd)),
    **calls(
        jnp.linalg,
        {
            "lstsq": lambda a: jnp.linalg.lstsq(a.x.T, a.m[0]),
            "matrix_power": lambda a: jnp.linalg.matrix_power(a.m, 3),
            "multi_dot": lambda a: jnp.linalg.multi_dot([a.x, a.m, a.y.T]),
            "outer": lambda a: jnp.linalg.outer(a.v, a.w),
            "tensorinv": lambda a: jnp.linalg.tensorinv(a.m, ind=1),
            "tensorsolve": lambda a: jnp.linalg.tensorsolve(a.m, a.x[0]),
        },
    ),
}

SCIPY_LINALG = {
    **each(
        sl,
        "cholesky det eigh expm hessenberg inv lu lu_factor polar qr schur sqrtm svd cho_factor",
        lambda f, a: f(a.spd),
    ),
    **each(
        sl, "circulant companion fiedler fiedler_companion hankel toeplitz", lambda f, a: f(a.v)
    ),
    **each(sl, "dft hadamard helmert hilbert invhilbert invpascal pascal", lambda f, a: f(4)),
    **calls(
        sl,
        {
            "block_diag": lambda a: sl.block_diag(a.x, a.m),
            "cho_solve": lambda a: sl.cho_solve((sl.cholesky(a.spd), False), a.m),
            "convolution_matrix": lambda a: sl.convolution_matrix(a.v, 3),
            "eigh_tridiagonal": lambda a: sl.eigh_tridiagonal(a.v, a.w[:3], eigvals_only=True),
            "expm_frechet": lambda a: sl.expm_frechet(a.m, a.spd),
            "funm": lambda a: sl.funm(a.m, jnp.exp),
            "leslie": lambda a: sl.leslie(a.v, a.w[:3]),
            "lu_solve": lambda a: sl.lu_solve(sl.lu_factor(a.m), a.x[0]),
            "qr_multiply": lambda a: sl.qr_multiply(a.m, a.spd),
            "rsf2csf": lambda a: sl.rsf2csf(*sl.schur(a.m)),
            "solve": lambda a: sl.solve(a.m, a.x[0]),
            "solve_sylvester": lambda a: sl.solve_sylvester(a.m, a.spd, a.m),
            "solve_triangular": lambda a: sl.solve_triangular(a.m, a.x[0], lower=True),
        },
    ),
    **each(sparse, "bicgstab cg gmres", lambda f, a: f(lambda z: a.spd @ z, a.x[0])[0]),
}

LAX_LINALG = {
    **each(ll, "cholesky eigh hessenberg lu qdwh qr schur svd tridiagonal", lambda f, a: f(a.spd)),
    **calls(
        ll,
        {
            "cholesky_update": lambda a: ll.cholesky_update(jnp.linalg.cholesky(a.spd).T, a.x[0]),
            "eig": lambda a: ll.eig(a.m),
            "householder_product": lambda a: ll.householder_product(a.m, a.x[0]),
            "lu_pivots_to_permutation": lambda a: ll.lu_pivots_to_permutation(
                jnp.array([2, 1, 2], jnp.int32), 3
            ),
            "ormqr": lambda a: ll.ormqr(a.m, a.x[0], a.spd),
            "symmetric_product": lambda a: ll.symmetric_product(a.m, a.spd, symmetrize_output=True),
            "triangular_solve": lambda a: ll.triangular_solve(
                a.m, a.spd, left_side=True, lower=True
            ),
            "tridiagonal_solve": lambda a: ll.tridiagonal_solve(a.v, a.w + 2, a.v, a.w[:, None]),
        },
    ),
}

FOURIER = {
    **each(
        jnp.fft,
        "fft fft2 fftn ifft ifft2 ifftn fftshift ifftshift irfft irfft2 irfftn hfft",
        lambda f, a: f(a.c),
    ),
    **each(jnp.fft, "rfft rfft2 rfftn ihfft", lambda f, a: f(a.x)),
    **each(jnp.fft, "fftfreq rfftfreq", lambda f, a: f(5, 0.5)),
    **each(jax.scipy.fft, "dct dctn idct idctn", lambda f, a: f(a.x)),
}
