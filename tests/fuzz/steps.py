"""Steps of random programs, by name: each replaces one array of the state.

Each keeps values between -2 and 2 or so, however often it is applied, and works for a vector of
any size of at least 4. Functions that JAX is given stand outside: eager JAX compiles what it has
not seen, and would see a new one in each step.
"""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax


def _system(s):
    return jnp.tanh(s.m) * 0.2 + 2 * jnp.eye(s.m.shape[0])


def _places(s):
    return jnp.arange(s.v.shape[0])


def _multiplied(total, x):
    return total * x, total / 2 + x / 2


def _row_by_itself(row):
    return row @ row


def _wave(x, v):
    return jnp.sin(x * v).sum()


_each_row, _slope = jax.vmap(_row_by_itself), jax.grad(_wave)


OF_VECTOR = {
    "sine": lambda s: jnp.sin(s.v + s.k),
    "bounded": lambda s: jnp.tanh(s.v) + 0.1 * s.v,
    "bell": lambda s: jnp.exp(-(s.v**2)),
    "root": lambda s: jnp.sqrt(1.5 + s.v**2) - 1.0,
    "logarithm": lambda s: jnp.log1p(jnp.abs(s.v) + 0.1) / 2,
    "error function": lambda s: jsp.special.erf(s.v),
    "digamma": lambda s: jsp.special.digamma(s.v**2 + 1.5) / 2,
    "atan2": lambda s: jnp.arctan2(s.v, s.v[::-1] ** 2 + 0.5),
    "matvec": lambda s: jnp.tanh(s.m @ s.v),
    "reversed": lambda s: s.v[::-1],
    "rolled": lambda s: jnp.roll(s.v, 1) * 0.9,
    "running": lambda s: jnp.cumsum(s.v) / s.v.shape[0],
    "differences": lambda s: jnp.diff(s.v, append=0.5) / 2,
    "row": lambda s: s.m[1] / 2,
    "sum of rows": lambda s: jnp.tanh(s.m.sum(axis=0)),
    "added": lambda s: jnp.cos(s.v.at[jnp.array([0, 0, 2])].add(s.v[1:4])),
    "added anywhere": lambda s: (s.v / 2).at[s.k + jnp.arange(2)].add(s.v[:2] / 2, mode="drop"),
    "filled": lambda s: s.v.at[s.k - 1 + _places(s)].get(mode="fill", fill_value=0.25),
    "taken": lambda s: jnp.take(s.v, s.k + _places(s), mode="wrap"),
    "window": lambda s: lax.dynamic_slice(jnp.tile(s.v, 2), (s.k,), (s.v.shape[0],)),
    "placed": lambda s: lax.dynamic_update_slice(s.v, s.v[:2] / 2, (s.k,)),
    "softmax": lambda s: jax.nn.softmax(s.v * 2),
    "gelu": lambda s: jax.nn.gelu(s.v) / 2,
    "solved": lambda s: jnp.linalg.solve(_system(s), s.v),
    "factored": lambda s: jnp.linalg.cholesky(_system(s) @ _system(s).T) @ s.v / 3,
    "filtered": lambda s: jnp.real(jnp.fft.ifft(jnp.fft.fft(s.v) * 0.7j + s.c)) / 2,
    "convolved": lambda s: jnp.convolve(s.v, s.v[:3], mode="same") / 4,
    "interpolated": lambda s: jnp.interp(s.v[0], jnp.arange(4.0), s.v[:4]) + s.v / 2,
    "magnitude": lambda s: jnp.abs(s.c + 0.5j) / 2,
    "scanned": lambda s: lax.scan(_multiplied, jnp.ones((), s.v.dtype), s.v)[1],
    "derivative": lambda s: _slope(s.v, s.v) / 2,
    "mapped": lambda s: _each_row(s.m) / (1 + s.m.shape[0]),
    "other": lambda s: s.w,
    "product of both": lambda s: jnp.tanh(s.v * s.w + 0.3 * s.w),
    "turned other": lambda s: s.v / 2 + s.w[::-1] / 2,
    "matvec of other": lambda s: jnp.tanh(s.m @ s.w) + s.v / 3,
    "element": lambda s: s.v / 2 + s.w[s.k % s.w.shape[0]] / 3,
    "row anywhere": lambda s: s.m[s.k % s.m.shape[0]] / 3 + s.v / 2,
    "joined": lambda s: jnp.concatenate([s.v[1:], s.w])[: s.v.shape[0]],
    "framed": lambda s: jnp.pad(s.v[1:-1], 1, constant_values=0.5)[::-1],
    "narrow": lambda s: (s.v.astype(jnp.float32) * 0.5).astype(s.v.dtype),
    "sorted": lambda s: jnp.sort(s.v),
    "positions": lambda s: s.v[jnp.argsort(s.v)[::-1]],
    "chosen": lambda s: jnp.where(s.v > 0, s.v, -s.v / 2),
    "clipped": lambda s: jnp.clip(s.v, -0.7, 0.9),
    "extremes of rows": lambda s: (s.m.max(axis=1) + s.m.min(axis=0)) / 4,
    "scaled": lambda s: s.v / jnp.max(jnp.abs(s.v) + 0.5),
    "median": lambda s: s.v - jnp.median(s.v),
    "largest": lambda s: s.v - lax.cummax(s.v) / 2,
    "set": lambda s: s.v.at[s.k % s.v.shape[0]].set(s.v[0] / 2),
    "rounded": lambda s: jnp.round(s.v * 4) / 4,
    "remainder": lambda s: s.v % 0.7,
}


def _strip(s):
    """Three columns from anywhere, moved until they fit: all of a matrix has no other rows."""
    return lax.dynamic_slice(s.m, (s.k, s.k), (s.m.shape[0], 3))


OF_MATRIX = {
    "outer": lambda s: jnp.outer(s.v, s.v[::-1]) / 2,
    "transposed": lambda s: s.m.T,
    "product": lambda s: jnp.tanh(s.m @ s.m),
    "column": lambda s: s.m.at[:, 0].set(jnp.tanh(s.m[:, 1] + s.v)),
    "reshaped": lambda s: s.m.reshape(-1)[::-1].reshape(s.m.shape),
    "triangle": lambda s: jnp.tril(s.m) - jnp.diag(s.v) / 2,
    "inverse": lambda s: jnp.linalg.inv(_system(s)),
    "normalised": lambda s: s.m / jnp.sqrt(1 + (s.m**2).sum(axis=1, keepdims=True)),
    "padded": lambda s: jnp.pad(s.m, 1)[: s.m.shape[0], 2:],
    "pooled": lambda s: lax.reduce_window(s.m, 0.0, lax.add, (2, 2), (1, 1), "SAME") / 4,
    "sliced": lambda s: lax.dynamic_update_slice(s.m, s.m[:2, :2], (s.k % 3, jnp.ones_like(s.k))),
    "columns": lambda s: jnp.tile(_strip(s), s.m.shape[0])[:, : s.m.shape[0]] / 2,
    "pasted": lambda s: lax.dynamic_update_slice(s.m, s.m[1:] / 2, (s.k, s.k)),
    "stacked": lambda s: jnp.concatenate([s.m[1:], s.v[None]]) / 2,
    "shifted": lambda s: jnp.pad(s.m[1:, 1:], ((0, 1), (1, 0)), constant_values=0.25).T,
    "sorted columns": lambda s: jnp.sort(s.m, axis=0),
}
OF_COMPLEX = {
    "turned": lambda s: s.c * jnp.exp(1j * s.v),
    "combined": lambda s: (s.c * (0.3 - 0.2j) + s.v) / 2,
    "square": lambda s: jnp.conj(s.c) ** 2 / (1 + jnp.abs(s.c) ** 2),
    "spectrum": lambda s: jnp.fft.fft(s.v) / s.v.shape[0],
    "complex matvec": lambda s: jnp.tanh(s.m) @ s.c / s.v.shape[0],
}
OF_NUMBER = {
    "arithmetic": lambda s: (s.k * 7 + 3) % 11 - 5,
    "divided": lambda s: (s.k - 9) // 2,
    "bits": lambda s: ((s.k << 2) ^ (s.k >> 1)) & 15,
    "byte": lambda s: (s.k.astype(jnp.int8) * jnp.int8(37)).astype(s.k.dtype),
    "largest place": lambda s: jnp.argmax(s.v),
    "smallest place": lambda s: jnp.argmin(s.v * s.w),
    "counted": lambda s: jnp.sum(s.m > 0),
    "floor": lambda s: jnp.floor(s.v[0] * 3),
}

OF_OTHER = {
    "kept": lambda s: s.v,
    "kept and turned": lambda s: s.v[::-1] / 2 + s.w / 2,
    "decayed": lambda s: s.w / 2 + s.v[s.k % s.v.shape[0]] / 4,
    "kept row": lambda s: s.m[-1] / 2,
    "kept anywhere": lambda s: s.w.at[s.k % s.w.shape[0]].add(s.v[0] / 3),
    "real part": lambda s: s.c.real / 2,
}

TABLES = {"v": OF_VECTOR, "m": OF_MATRIX, "c": OF_COMPLEX, "k": OF_NUMBER, "w": OF_OTHER}
STEPS = {name: (array, step) for array, table in TABLES.items() for name, step in table.items()}
"""Which array is replaced, and by what."""

DISCONTINUOUS = {
    "sorted", "positions", "chosen", "clipped", "median", "largest", "set", "rounded", "remainder",
    "sliced", "sorted columns", "extremes of rows", "scaled", "smallest place",
    "narrow", "interpolated", "largest place", "counted", "floor",
}  # fmt: skip
"""Steps that have a jump or a kink somewhere, or fewer digits: no finite differences of these."""

LINKED = {
    "added anywhere", "columns", "decayed", "element", "filled", "kept", "kept and turned",
    "kept anywhere", "matvec of other", "other", "pasted", "placed", "product of both",
    "row anywhere", "set", "sliced", "taken", "turned other", "window",
}  # fmt: skip
"""Steps that read or write at computed places, or take one vector to the other."""
