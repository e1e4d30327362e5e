"""`report()`: which equations run on the host and why, sizes, assumptions, times, the library."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from diastase import qjit
from diastase.api.errors import NotCompiledError


def test_native_program():
    f = qjit(lambda x: jnp.sin(x) + 1)
    f(np.ones(3))
    report = f.report()
    assert (list(report), report.callbacks) == ([], ())
    assert report.equations == report.native == 2
    assert report.library is not None
    assert report.library.exists()
    assert str(report.library) in str(report)
    assert sum(report.timings.values()) > 0
    assert "2 of them native" in str(report)


def test_host_equation():
    def f(n, x):
        a = jnp.ones(n)
        return jnp.fft.fft(a), x * 2

    report = qjit(f).trace(3, np.ones(2)).report()
    (equation,) = report
    assert equation.primitive == "fft"
    assert equation.inputs == ("complex128[d0]",)
    assert equation.span.line == f.__code__.co_firstlineno + 2
    assert "library" in equation.reason
    assert (len(report), report.equations - report.native, report.callbacks) == (1, 1, ())
    assert report.sizes == ("n",)
    assert (report.library, report.from_cache) == (None, None)
    assert f"fft at {__file__}:{equation.span.line}: complex128[d0] -> complex128[d0]" in str(
        report
    )


def test_callbacks_of_the_user_are_no_host_equations():
    @qjit
    def f(x):
        jax.debug.print("{}", x)
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), x.dtype), x) * 2

    assert f(0.0) == 0
    report = f.report()
    assert list(report) == []
    assert {one.primitive for one in report.callbacks} >= {"pure_callback"}
    assert "callbacks: 2" in str(report)
    assert report.native == report.equations - 2


def test_equations_inside_of_control_flow_are_counted_once():
    def f(x):
        body = lambda i, s: s + jnp.fft.fft(x).real  # noqa: E731
        return lax.fori_loop(0, 3, body, x), lax.cond(x[0] > 0, lambda: x * 2, lambda: x)

    report = qjit(f).trace(np.ones(3)).report()
    assert [one.primitive for one in report] == ["fft"]
    assert report.equations - report.native == 1


def test_sizes_and_assumptions():
    def f(n, m):
        a = jnp.ones(n) + jnp.ones(m)
        return a, a[a > 0]

    compiled = qjit(f).trace(3, 3).lower().compile()
    report = compiled.report()
    assert set(report.sizes) >= {"n", "m"}
    assert report.assumptions == ("n == m",) or report.assumptions == ("m == n",)
    assert "assumptions: " in str(report)


def test_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DIASTASE_CACHE_DIR", str(tmp_path))

    def f(x):
        return jnp.fft.fft(x) + jnp.cos(x)

    reports = []
    for _ in range(2):
        compiled = qjit(f)
        compiled(np.ones(4))
        reports.append(compiled.report())
    first, second = reports
    assert (first.from_cache, second.from_cache) == (False, True)
    assert first.host == second.host != ()
    assert (first.equations, first.native) == (second.equations, second.native)
    assert first.library == second.library
    assert "found in the cache" in str(second)


def test_before_compilation():
    with pytest.raises(NotCompiledError, match="report"):
        qjit(lambda x: x).report()
