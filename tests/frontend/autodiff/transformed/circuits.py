"""Circuits of the matrix, for PennyLane's operators and for those of `extended.Circuit`.

A body `(q, x, n)` applies operators `q.RX(...)`, …; `MEASUREMENTS` has, by name, the measurement as
PennyLane has it, and what it is of a state in extended precision.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml

from diastase import cond, for_loop, switch, while_loop
from frontend.autodiff.transformed import extended
from frontend.autodiff.transformed.extended import expectation, parts, reduced, variance, word

HERMITIAN = np.array([[1, 2j], [-2j, 0.5]])
_ON_ONE = extended.kron(extended.PAULIS["I"], extended.matrix(HERMITIAN), extended.PAULIS["I"])
_SUM = 0.5 * word("ZII") + 1.5 * word("IXY")
_WORDS = word("ZXI") + word("IIY")
_FIRST = np.diag([extended.mpmath.mpf(1), extended.mpmath.mpf(0)])


def _probabilities(state: Any, wires: str) -> list[Any]:
    chances = (np.conjugate(state) * state).reshape([2] * 3)
    return [extended.real(chance) for chance in np.ravel(np.einsum(f"abc->{wires}", chances))]


MEASUREMENTS = {
    "expval of a word": (
        lambda: qml.expval(qml.Z(0) @ qml.X(2)),
        lambda state: [expectation(state, word("ZIX"))],
    ),
    "expval of a sum": (
        lambda: qml.expval(0.5 * qml.Z(0) + 1.5 * qml.X(1) @ qml.Y(2)),
        lambda state: [expectation(state, _SUM)],
    ),
    "expval of a matrix": (
        lambda: qml.expval(qml.Hermitian(HERMITIAN, 1)),
        lambda state: [expectation(state, _ON_ONE)],
    ),
    "expval of a projector": (
        lambda: qml.expval(qml.Projector([0, 0], [0, 2])),
        lambda state: [expectation(state, extended.kron(_FIRST, extended.PAULIS["I"], _FIRST))],
    ),
    "var of words": (
        lambda: qml.var(qml.Z(0) @ qml.X(1) + qml.Y(2)),
        lambda state: [variance(state, _WORDS)],
    ),
    "var of a matrix": (
        lambda: qml.var(qml.Hermitian(HERMITIAN, 1)),
        lambda state: [variance(state, _ON_ONE)],
    ),
    "probs": (qml.probs, lambda state: _probabilities(state, "abc")),
    "probs of some wires": (
        lambda: qml.probs([2, 0]),
        lambda state: [
            extended.mpmath.fsum(_probabilities(state, "cab")[2 * k : 2 * k + 2]) for k in range(4)
        ],
    ),
    "state": (qml.state, parts),
    "density matrix": (lambda: qml.density_matrix([1]), lambda state: parts(reduced(state, 1))),
    "purity": (
        lambda: qml.purity([1]),
        lambda state: [extended.real(np.trace(reduced(state, 1) @ reduced(state, 1)))],
    ),
    "several": (
        lambda: (qml.expval(qml.Z(0)), qml.var(qml.X(1)), qml.probs([2])),
        lambda state: [
            expectation(state, word("ZII")),
            variance(state, word("IXI")),
            *(extended.real(entry) for entry in np.diag(reduced(state, 2))),
        ],
    ),
    "averages": (
        lambda: (qml.expval(qml.Z(0)), qml.probs([2])),
        lambda state: [
            expectation(state, word("ZII")),
            *(extended.real(entry) for entry in np.diag(reduced(state, 2))),
        ],
    ),
}


def gates(q: Any, x: Any, n: Any) -> None:
    """Gates of several kinds."""
    q.RX(x[0], 0)
    q.RY(x[1] * x[0], 1)
    q.CNOT([0, 1])
    q.CRZ(x[2], [1, 2])
    q.Hadamard(2)
    q.IsingXX(x[1], [0, 2])
    q.GlobalPhase(x[2])


def few(q: Any, x: Any, n: Any) -> None:
    """A few gates, for what is not about gates."""
    q.RX(x[0], 0)
    q.CRY(x[1] * x[2], [0, 1])


def counted(q: Any, x: Any, n: Any) -> None:
    """A loop with a bound known at run time."""
    q.Hadamard(0)

    @for_loop(0, n, 1)
    def loop(i: Any, angle: Any) -> Any:
        q.RY(angle * x[0], 0)
        q.CRZ(x[1] + i, [0, 1])
        return angle * x[2] + 0.3

    q.RX(loop(x[1]), 1)


def repeated(q: Any, x: Any, n: Any) -> None:
    """A loop whose end depends on the values."""
    q.Hadamard(0)

    @while_loop(lambda angle: angle < 2.0)
    def loop(angle: Any) -> Any:
        q.RY(angle, 0)
        q.CRY(angle * x[1], [0, 1])
        return angle + 0.4 + x[0] ** 2

    q.RX(loop(x[2] ** 2), 1)


def branched(q: Any, x: Any, n: Any) -> None:
    """A conditional with gates, one within a loop."""

    @for_loop(0, 3, 1)
    def loop(i: Any) -> None:
        @cond(x[0] * i < 0.5)
        def branch() -> None:
            q.RY(x[1] + x[0], 0)

        @branch.otherwise
        def branch() -> None:
            q.RX(x[2] * x[1], 0)
            q.CRY(x[0], [0, 1])

        branch()

    loop()


def switched(q: Any, x: Any, n: Any) -> None:
    """One of several branches with gates, another one each time around."""

    @for_loop(0, n + 1, 1)
    def loop(i: Any) -> None:
        @switch(i % 3)
        def branch() -> None:
            q.RY(x[0] * x[1], 0)

        @branch.branch(1)
        def branch() -> None:
            q.CRY(x[1], [0, 1])
            q.RX(x[2], 1)

        @branch.branch(2)
        def branch() -> None:
            q.Hadamard(0)

        branch()

    loop()


def nested(q: Any, x: Any, n: Any) -> None:
    """Loops in loops, the inner one as long as the outer one is."""

    @for_loop(0, n, 1)
    def outer(i: Any, angle: Any) -> Any:
        @for_loop(0, i + 1, 1)
        def inner(j: Any, angle: Any) -> Any:
            q.RY(angle * x[0] + j, 0)
            q.CRY(x[1], [0, 1])
            return angle * 0.5 + x[2]

        return inner(angle)

    q.RX(outer(x[2]), 1)


def wires_from_data(q: Any, x: Any, n: Any) -> None:
    """Gates on wires known at run time."""
    q.RX(x[0], n % 2)
    q.CRY(x[1] * x[2], [n % 2, 2])


CONTROL_FLOW = {
    "for_loop": counted,
    "while_loop": repeated,
    "cond in for_loop": branched,
    "switch in for_loop": switched,
    "nested for_loop": nested,
    "wires": wires_from_data,
}


def prepared(q: Any, x: Any, n: Any, m: Any) -> None:
    """A state that depends on the arguments."""
    amplitudes = [x[0], x[1] * x[0], 1j * x[2], 0.5 + x[1]]
    norm = m.sqrt(x[0] ** 2 + (x[1] * x[0]) ** 2 + x[2] ** 2 + (0.5 + x[1]) ** 2)
    amplitudes = [entry / norm for entry in amplitudes]
    q.StatePrep(jnp.stack(amplitudes) if m is jnp else amplitudes, [0, 1])
    q.CRY(x[2], [1, 2])


def exponential(q: Any, x: Any, n: Any, m: Any) -> None:
    """A unitary that is an exponential."""
    rows = [[1j * x[0], 1j * x[1] + x[2]], [1j * x[1] - x[2], -0.5j * x[0]]]
    if m is jnp:
        full = jax.scipy.linalg.expm(jnp.array(rows))
    else:
        full = extended.expm(extended.matrix(rows))
    q.Hadamard(0)
    q.QubitUnitary(full, [0])
    q.CRY(x[2], [0, 1])


def _hermitian(x: Any) -> list[list[Any]]:
    return [[x[0], x[1] + 1j * x[2]], [x[1] - 1j * x[2], x[0] * x[1]]]


OBSERVABLES = {
    "coefficients": (
        lambda x: qml.Hamiltonian(jnp.stack([x[0], x[1] * x[2]]), [qml.Z(0), qml.X(1) @ qml.Y(2)]),
        lambda x: x[0] * word("ZII") + x[1] * x[2] * word("IXY"),
    ),
    "Hermitian": (
        lambda x: qml.Hermitian(jnp.array(_hermitian(x)), 1),
        lambda x: extended.kron(
            extended.PAULIS["I"], extended.matrix(_hermitian(x)), extended.PAULIS["I"]
        ),
    ),
}
"""Observables that depend on the arguments: PennyLane's, and matrices."""

OPERANDS = {"StatePrep": prepared, "QubitUnitary(expm)": exponential}
DEVICE = qml.device("default.qubit", wires=3)


def real_vector(results: Any) -> Any:
    """All results in one vector, complex ones as their real and imaginary parts."""
    flat = jnp.concatenate([jnp.ravel(result) for result in jax.tree.leaves(results)])
    return jnp.concatenate([flat.real, flat.imag]) if jnp.iscomplexobj(flat) else flat


def by_pennylane(body: Any, measured: Any, diff_method: str = "best") -> Any:
    """The circuit as a function `(x, n) -> vector`."""

    @qml.qnode(DEVICE, diff_method=diff_method)
    def node(x: Any, n: Any) -> Any:
        body(qml, x, n)
        return measured()

    return lambda x, n: real_vector(node(x, n))


def exactly(body: Any, read: Any, n: int) -> Any:
    """The circuit in extended precision, as a function of a list of numbers."""

    def function(x: Any) -> Any:
        circuit = extended.Circuit()
        body(circuit, x, n)
        return read(circuit.state)

    return function
