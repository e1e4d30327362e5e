"""The process that measures a program of the list, ours and `jax.jit`'s in turn.

Requests, in this order: `warm` it, once; `take` a program by its number; `compile` it by `ours` and
by `xla` (the caches of JAX are empty each time), which gives the seconds until the first result;
`check` the results; `time` those that there are. Errors are answers; what hangs is ended.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
from worker import serve

from classical_200.listing import ROWS
from diastase import qjit

_TOLERANCES = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}
"""Of the element and of the largest one: sums may be added up in another order."""
_SHORTEST_BATCH = 2e-4
_TIMES_XLA_ERROR = 10.0


class Pair:
    def __init__(self):
        jax.config.update("jax_enable_x64", True)
        self._row = None
        self._arguments = ()
        self._calls, self._results = {}, {}

    def warm(self, request):
        """Import what compiling needs, by compiling a program that is not on the list."""
        for compiler in (qjit, jax.jit):
            compiler(lambda x: jnp.cos(x) @ x)(jnp.ones((3, 3)))
        return {}

    def take(self, request):
        self._calls, self._results = {}, {}
        self._row = ROWS[request["number"]]
        self._arguments = _on_device(self._row.arguments())
        return {"title": self._row.title}

    def compile(self, request):
        jax.clear_caches()
        program = self._row.program
        function = (qjit if request["by"] == "ours" else jax.jit)(lambda *values: program(*values))
        start = time.perf_counter()
        result = jax.block_until_ready(function(*self._arguments))
        seconds = time.perf_counter() - start
        self._results[request["by"]] = result
        self._calls[request["by"]] = lambda: jax.block_until_ready(function(*self._arguments))
        host = function.report() if request["by"] == "ours" else ()
        return {"seconds": seconds, "host": sorted({equation.primitive for equation in host})}

    def check(self, request):
        return {"wrong": difference(self._row, self._results["ours"], self._results["xla"])}

    def time(self, request):
        """The minima; all in turn, so that both see the same machine."""
        batches = {by: _batch(call) for by, call in self._calls.items()}
        least = dict.fromkeys(batches, float("inf"))
        end = time.perf_counter() + request["seconds"]
        rounds = 0
        while rounds < 2 or time.perf_counter() < end:
            rounds += 1
            for by, number in batches.items():
                call = self._calls[by]
                start = time.perf_counter()
                for _ in range(number):
                    call()
                least[by] = min(least[by], (time.perf_counter() - start) / number)
        return {"least": least, "rounds": rounds}


def _batch(call):
    """How many calls are measured together."""
    start = time.perf_counter()
    call()
    return max(1, int(_SHORTEST_BATCH / (time.perf_counter() - start)))


def _on_device(values):
    return tuple(jnp.asarray(v) if hasattr(v, "dtype") else v for v in values)


def difference(row, ours, xla):
    """What is wrong with our results, or nothing.

    Of float32, XLA's results are not the truth: where ours differ from them, both are compared with
    what XLA computes from the same arguments in float64, and ours may be ten times as far off.
    """
    pairs = list(zip(jax.tree.leaves(ours), jax.tree.leaves(xla), strict=True))
    types = [(f"{o.dtype}{o.shape}", f"{x.dtype}{x.shape}") for o, x in pairs]
    if unequal := [f"{o} instead of {x}" for o, x in types if o != x]:
        return "; ".join(unequal)
    found = max((_excess(o, x, row.tolerance) for o, x in pairs), default=0.0)
    if found <= 1:
        return ""
    message = f"{found:.2g} × tolerance"
    if row.dtype != "f32" or not row.by_dtype:
        return message
    truth = jax.tree.leaves(_in_double(row))
    errors = [
        max(_excess(r[i], t, row.tolerance) for r, t in zip(pairs, truth, strict=True))
        for i in (0, 1)
    ]
    if errors[0] <= max(1.0, _TIMES_XLA_ERROR * errors[1]):
        return ""
    return f"{message}; from float64: ours {errors[0]:.2g}, XLA {errors[1]:.2g}"


def _in_double(row):
    wide = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
    values = (
        v.astype(wide.get(v.dtype, v.dtype)) if hasattr(v, "dtype") else v for v in row.arguments()
    )
    return jax.jit(row.program)(*_on_device(values))


def _excess(found, expected, tolerance):
    """The largest difference, as a multiple of what is allowed."""
    found, expected = np.asarray(found), np.asarray(expected)
    if not found.size:
        return 0.0
    if not np.issubdtype(found.dtype, np.inexact):
        share = (found != expected).mean()
        return float(share / tolerance) if tolerance else float("inf") if share else 0.0
    allowed = tolerance or _TOLERANCES[np.zeros((), found.dtype).real.dtype]
    with np.errstate(all="ignore"):
        equal = (found == expected) | (np.isnan(found) & np.isnan(expected))
        finite = np.abs(expected[np.isfinite(expected)])
        scale = finite.max() if finite.size else 0.0
        ratios = np.abs(found - expected) / (allowed * (np.abs(expected) + scale) + 1e-300)
    ratios = np.where(equal, 0.0, np.where(np.isnan(ratios), np.inf, ratios))
    return float(ratios.max())


if __name__ == "__main__":
    serve(Pair())
