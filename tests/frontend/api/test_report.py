"""`report()`: which equations run on the host and why, sizes, assumptions, times, the library."""

import os
import subprocess
import sys

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from jax import lax

from diastase import for_loop, measure, qjit
from diastase.inspection.costs import CircuitCosts, circuit_costs_of
from diastase.jit.options.errors import NotCompiledError

unknown = jax.extend.core.Primitive("unknown")
"""Of a type, and evaluated by JAX; nobody has a rule that compiles it."""
unknown.def_abstract_eval(lambda aval: aval)
unknown.def_impl(lambda x: jnp.asarray(x) * 3)


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
        return unknown.bind(a), x * 2

    report = qjit(f).trace(3, np.ones(2)).report()
    (equation,) = report
    assert equation.primitive == "unknown"
    assert equation.inputs == ("float64[d0]",)
    assert equation.span.line == f.__code__.co_firstlineno + 2
    assert equation.reason
    assert (len(report), report.equations - report.native, report.callbacks) == (1, 1, ())
    assert report.sizes == ("n",)
    assert (report.library, report.from_cache) == (None, None)
    assert f"unknown at {__file__}:{equation.span.line}: float64[d0] -> float64[d0]" in str(report)


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
        body = lambda i, s: s + unknown.bind(x)  # noqa: E731
        return lax.fori_loop(0, 3, body, x), lax.cond(x[0] > 0, lambda: x * 2, lambda: x)

    report = qjit(f).trace(np.ones(3)).report()
    assert [one.primitive for one in report] == ["unknown"]
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
        return unknown.bind(x) + jnp.cos(x)

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


def test_circuits_and_what_the_engine_made_of_them():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(angle):
        @for_loop(0, 4, 1)
        def layer(_):
            qml.RX(angle, wires=0)
            qml.RX(angle, wires=0)
            qml.CNOT(wires=[0, 1])

        layer()
        measure(2)
        return qml.expval(qml.Z(1))

    traced = circuit.trace(0.1).report()
    assert traced.circuits == CircuitCosts(
        circuits=1, gates=12, measurements=1, qubits=3, largest_state=16 * 8
    )
    assert traced.work is None
    assert traced.memory["state"] == 16 * 8
    assert list(traced.timings) == ["trace"]
    circuit(0.1)
    report = circuit.report()
    assert report.circuits == traced.circuits
    assert report.work.gates >= 12
    assert report.work.operations < report.work.gates
    single = qjit(circuit.original_function, precision="single").trace(0.1).report()
    assert single.memory["state"] == 8 * 8
    assert report.work.stages >= 1
    assert "1 circuit on up to 3 qubits: 12 gates, 1 measured within" in str(report)
    assert f"{report.work.gates} gates, {report.work.operations} operations" in str(report)


def test_a_register_of_a_size_known_at_run_time():
    jaxpr = jax.make_jaxpr(lambda x: x + 1)(1.0)
    assert circuit_costs_of(jaxpr, ["x"], {}) == CircuitCosts()
    assert CircuitCosts(circuits=1, qubits=None).state_bytes is None


def test_gates_of_a_loop_with_a_traced_bound():
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(n):
        for_loop(0, n, 1)(lambda i: [qml.X(0), qml.CNOT([0, 1]), None][2])()
        qml.Hadamard(0)
        return qml.expval(qml.Z(1))

    report = circuit.trace(3).report()
    assert "1 circuit on up to 2 qubits: 2*n + 1 gates" in str(report)
    circuit(3)
    assert circuit.report().work.gates == report.circuits.gates.subs("n", 3) == 7


@qml.qnode(qml.device("lightning.qubit", wires=2))
def rotated(x):
    for_loop(0, 3, 1)(lambda i: [qml.RX(x, 0), qml.CNOT([0, 1]), None][2])()
    return qml.expval(qml.Z(0))


@pytest.mark.parametrize(
    ("function", "circuits"),
    [
        (lambda x: jax.vmap(rotated)(jnp.ones(4) * x), 4),
        (lambda x: lax.map(rotated, jnp.ones(5) * x), 5),
        (lambda x: lax.scan(lambda a, b: (a + rotated(b), b), x, jnp.ones(2)), 2),
    ],
    ids=["vmap", "map", "scan"],
)
def test_circuits_that_are_run_several_times(function, circuits):
    compiled = qjit(function)
    compiled(0.3)
    report = compiled.report()
    assert report.circuits.circuits == circuits
    assert report.circuits.gates == report.work.gates == 6 * circuits


CORE = """
import numpy as np
from diastase import qjit
f, g = qjit(lambda x: x @ x), qjit(lambda x: x + 1)
f(np.ones((200, 200))), g(np.ones(3))
print(f.report().blas_core, g.report().blas_core)
assert f"kernels of BLAS: {f.report().blas_core}" in str(f.report())
assert "kernels of BLAS" not in str(g.report())
"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("core", ["Haswell", "Nehalem"])
def test_the_kernels_of_blas_that_run(core):
    told = {**os.environ, "OPENBLAS_CORETYPE": core}
    run = subprocess.run(
        [sys.executable, "-c", CORE], env=told, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == [core, "None"]


def test_costs_memory_and_libraries():
    f = qjit(lambda a: jnp.linalg.solve(a, a[0]))
    f(np.eye(40) + 0.1)
    report = f.report()
    assert report.costs["flops"] > 0
    assert report.memory["arguments"] == 40 * 40 * 8
    assert report.memory["results"] == 40 * 8
    assert report.memory["state"] == 0
    assert report.memory["code"] == report.library.stat().st_size
    assert "dgetrf" in report.libraries["lapack"]
    assert next(iter(report.timings)) == "trace"
    assert report.timings["trace"] > 0
    text = str(report)
    assert "lapack: dgetrf" in text
    assert sum(report.kinds.values()) == report.equations
    assert report.kinds["lapack"] >= 1
    assert f"{report.kinds['lapack']} lapack" in text
    assert "memory: arguments 12.5 KiB, results 320 B, code" in text
    assert "circuit" not in text


def test_sizes_that_the_costs_depend_on():
    f = qjit(lambda x: x * 2, abstracted_axes=("n",))
    f(np.ones(3))
    assert str(f.report().memory["arguments"]) == "8*n"
    assert "arguments 8*n B" in str(f.report())
