"""The sweep back over a density matrix's tape, against finite differences of numpy."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pennylane as qml
import pytest
import scipy.stats

from diastase_runtime.abi import ErrorCode
from diastase_runtime.gate_table import GATES

PAULIS = [np.eye(2), np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]]), np.diag([1, -1])]


@dataclass
class Step:
    """An operation: how a register does it, its numbers, what they make of a density matrix."""

    apply: Callable[..., None]
    numbers: np.ndarray
    act: Callable[[np.ndarray, np.ndarray], np.ndarray]
    is_array: bool = False


def embedded(matrix, wires, n):
    return qml.math.expand_matrix(matrix, list(wires), wire_order=range(n))


def complexes(numbers: np.ndarray, *shape: int) -> np.ndarray:
    return np.ascontiguousarray(numbers).view(complex).reshape(shape)


def gate(name: str, wires: Sequence[int], angles: Sequence[float], n: int, controls=(), values=()):
    word = re.fullmatch(r"PauliRot\[(\w+)\]", name)

    def matrix(angles: np.ndarray) -> np.ndarray:
        if word:
            u = qml.matrix(qml.PauliRot(angles[0], word[1], range(len(wires))))
        elif name.startswith("Adjoint("):
            u = qml.matrix(qml.adjoint(getattr(qml, name[8:-1])(wires=range(len(wires)))))
        else:
            u = qml.matrix(getattr(qml, name)(*angles, wires=range(len(wires))))
        size = len(u)
        whole = np.eye(size * 2 ** len(values), dtype=complex)
        start = size * int("".join(map(str, values)) or "0", 2)
        whole[start : start + size, start : start + size] = u
        return embedded(whole, [*controls, *wires], n)

    def apply(register):
        if controls:
            register.controlled(name, controls, values, wires, *angles)
        else:
            register.gate(name, wires, *angles)

    def act(rho, angles):
        u = matrix(angles)
        return u @ rho @ u.conj().T

    return Step(apply, np.array(angles, float), act)


def unitary(u: np.ndarray, wires, n, controls=(), values=(), diagonal=False):
    def act(rho, numbers):
        v = complexes(numbers, *u.shape)
        v = np.diag(v) if diagonal else v
        size = len(v)
        whole = np.eye(size * 2 ** len(values), dtype=complex)
        start = size * int("".join(map(str, values)) or "0", 2)
        whole[start : start + size, start : start + size] = v
        v = embedded(whole, [*controls, *wires], n)
        return v @ rho @ v.conj().T

    def apply(register):
        call = register.diagonal if diagonal else register.unitary
        call(u, wires, controls, values)

    return Step(apply, np.ascontiguousarray(u, complex).view(float).ravel(), act, True)


@cache
def words(n: int) -> np.ndarray:
    """All Pauli words of n wires."""
    basis = [np.eye(1)]
    for _ in range(n):
        basis = [np.kron(b, p) for b in basis for p in PAULIS]
    return np.array(basis)


def superoperator(matrix: np.ndarray, wires, n):
    shape = (4,) * (2 * len(wires))

    def act(rho, numbers):
        digits = np.einsum("pij,ji->p", words(n), rho).reshape((4,) * n)
        axes = range(len(wires), 2 * len(wires))
        turned = np.tensordot(numbers.reshape(shape), digits, (axes, wires))
        digits = np.moveaxis(turned, range(len(wires)), wires).ravel()
        return np.einsum("p,pij->ij", digits, words(n)) / 2**n

    return Step(lambda r: r.superoperator(matrix, wires), np.ravel(matrix), act, True)


def partial(matrix, wires, n):
    """The trace over some wires."""
    rest = [wire for wire in range(n) if wire not in wires]
    array = matrix.reshape((2,) * (2 * n))
    order = [*rest, *wires, *(n + w for w in rest), *(n + w for w in wires)]
    k, m = 2 ** len(rest), 2 ** len(wires)
    return np.einsum("aibi->ab", array.transpose(order).reshape(k, m, k, m))


def tensor(matrix, wires, rest_matrix, n):
    rest = [wire for wire in range(n) if wire not in wires]
    order = [*wires, *rest]
    return qml.math.expand_matrix(np.kron(matrix, rest_matrix), order, wire_order=range(n))


def put(matrix: np.ndarray, wires, n):
    def act(rho, numbers):
        m = complexes(numbers, *matrix.shape)
        m = np.outer(m, m.conj()) if m.ndim == 1 else (m + m.conj().T) / 2
        return tensor(m, wires, partial(rho, wires, n), n)

    def apply(register):
        call = register.prepare_wires if matrix.ndim == 1 else register.replace
        call(matrix, wires)

    return Step(apply, np.ascontiguousarray(matrix, complex).view(float).ravel(), act, True)


def depolarizing(p: float, wire: int, n: int):
    return superoperator(np.diag([1, *[1 - 4 * p / 3] * 3]), [wire], n)


def check(mixed, n: int, steps: Sequence[Step], *slots: int) -> None:
    """Compare derivatives of a loss by all numbers of all steps."""
    generator = np.random.default_rng(n)
    o = generator.normal(size=(2**n, 2**n)) + 1j * generator.normal(size=(2**n, 2**n))
    o = (o + o.conj().T) / 2**n
    rho0 = np.zeros((2**n, 2**n), complex)
    rho0[0, 0] = 1

    def loss(numbers: Sequence[np.ndarray]) -> float:
        rho = rho0
        for step, values in zip(steps, numbers, strict=True):
            rho = step.act(rho, values)
        return np.trace(o @ rho).real

    given = [step.numbers for step in steps]
    expected = []
    h = 1e-5
    for k, numbers in enumerate(given):
        for j in range(len(numbers)):
            ends = []
            for sign in (1, -1):
                shifted = numbers.copy()
                shifted[j] += sign * h
                ends.append(loss([*given[:k], shifted, *given[k + 1 :]]))
            expected.append((ends[0] - ends[1]) / (2 * h))
    for count in slots or (0,):
        register, adjoint = mixed(n), mixed(n)
        register.field("slots").value = count
        register.record()
        for step in steps:
            if step.is_array:
                register.differentiated()
            step.apply(register)
        adjoint.call("state_zero")
        adjoint.add_operator(o, range(n))
        assert abs(adjoint.inner(register) - loss(given)) < register.within(1e-12, 1e-4)
        found = register.sweep(adjoint)
        assert register.error[0] == ErrorCode.NONE
        assert len(found) == len(expected)
        np.testing.assert_allclose(found, expected, atol=register.within(3e-8, 2e-4))
        start = np.zeros((2**n, 2**n))
        start[0, 0] = 1
        np.testing.assert_allclose(register.matrix, start, atol=register.within(1e-11, 1e-4))


def entangled(n: int, generator: np.random.Generator) -> list[Step]:
    steps = [gate("RY", [w], [float(generator.normal())], n) for w in range(n)]
    steps += [gate("CNOT", [w, (w + 1) % n], [], n) for w in range(n)]
    return [*steps, *(gate("RX", [w], [float(generator.normal())], n) for w in range(n))]


NAMES = [
    *(name for name, row in GATES.items() if row.parameters or row.code % 4 == 0),
    *("PauliRot[Y]", "PauliRot[XY]", "PauliRot[ZYX]", "PauliRot[YZYX]"),
]


@pytest.mark.parametrize("values", [[], [0]])
@pytest.mark.parametrize("name", NAMES)
def test_gates(mixed, name, values):
    generator = np.random.default_rng(NAMES.index(name))
    row = GATES.get(name)
    count = (row.wires or 3) if row else len(name) - 10
    n = max(count + len(values), 2)
    order = [int(w) for w in generator.permutation(n)]
    angles = [float(x) for x in generator.normal(size=row.parameters if row else 1)]
    wires = order[len(values) : len(values) + count]
    steps = entangled(n, generator)
    steps.append(gate(name, wires, angles, n, order[: len(values)], values))
    check(mixed, n, [*steps, gate("RY", [0], [0.3], n)])


@pytest.mark.parametrize("values", [[], [1, 0]])
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("kind", ["unitary", "matrix", "diagonal", "phases"])
def test_complex_arrays(mixed, kind, targets, values):
    n, generator = 4, np.random.default_rng(targets)
    u = scipy.stats.unitary_group.rvs(2**targets, random_state=generator)
    if kind == "matrix":
        u = u @ np.diag(np.linspace(0.0, 1.0, len(u))) @ u
    if kind == "diagonal":
        u = np.diag(u)
    if kind == "phases":
        u = np.exp(1j * generator.normal(size=len(u)))
    order = [int(w) for w in generator.permutation(n)]
    controls, wires = order[: len(values)], order[len(values) : len(values) + targets]
    array = unitary(u, wires, n, controls, values, diagonal=u.ndim == 1)
    check(mixed, n, [*entangled(n, generator), array, gate("RY", [wires[0]], [0.3], n)])


@pytest.mark.sample(3)
@pytest.mark.parametrize("slots", [0, 1, 2, 3])
def test_channels_that_cannot_be_undone(mixed, slots):
    """Strengths 0, 3/4 (all is lost), 1; a reset; a random superoperator on two wires."""
    n, generator = 3, np.random.default_rng(slots)
    steps = entangled(n, generator)
    for p, wire in ((0.0, 0), (0.75, 1), (1.0, 2)):
        steps.append(depolarizing(p, wire, n))
        steps.append(gate("RX", [wire], [0.4], n))
        steps.append(gate("CRY", [wire, (wire + 1) % n], [0.9], n))
    reset = np.zeros((4, 4))
    reset[0, 0] = reset[3, 0] = 1
    steps += [superoperator(reset, [1], n), gate("IsingXX", [1, 0], [0.7], n)]
    random = generator.normal(size=(16, 16)) / 8
    steps += [superoperator(random, [2, 0], n), gate("Rot", [2], [0.1, 0.2, 0.3], n)]
    check(mixed, n, steps, slots)


@pytest.mark.parametrize("slots", [0, 1])
@pytest.mark.parametrize("wires", [[1], [2, 0]])
def test_prepared_and_replaced_wires(mixed, wires, slots):
    n, generator = 3, np.random.default_rng(len(wires))
    vector = generator.normal(size=2 ** len(wires)) + 1j * generator.normal(size=2 ** len(wires))
    a = generator.normal(size=(len(vector),) * 2) + 1j * generator.normal(size=(len(vector),) * 2)
    steps = [put(vector / np.linalg.norm(vector), wires, n), *entangled(n, generator)]
    steps += [put(a @ a.conj().T / 10, wires, n), *entangled(n, generator)]
    check(mixed, n, steps, slots)


def test_many_breaks_in_few_slots(mixed):
    """Amplitude damping is a break; so is depolarising that loses much, or much in all."""
    n, generator = 2, np.random.default_rng(0)
    steps = entangled(n, generator)
    for k in range(9):
        damping = np.diag([1, np.sqrt(0.9), np.sqrt(0.9), 0.9])
        damping[3, 0] = 0.1
        steps.append(superoperator(damping, [k % n], n))
        steps += [
            depolarizing([0.02, 0.74999, 0.1][k % 3], k % n, n),
            gate("RY", [1], [0.1 * k], n),
        ]
        steps.append(gate("CNOT", [k % n, 1 - k % n], [], n))
    check(mixed, n, steps, 1, 2, 3, 5, 0)


def test_long_weak_noise(mixed):
    """Division by what 200 channels have left, 1e-12, would lose all digits."""
    n, generator = 2, np.random.default_rng(1)
    register, adjoint, angle = mixed(n), mixed(n), 0.3
    values = []
    for shift in (np.pi / 2, -np.pi / 2):
        rho = np.zeros((4, 4), complex)
        rho[0, 0] = 1
        for step in (*entangled(n, np.random.default_rng(1)), gate("RX", [0], [angle + shift], n)):
            rho = step.act(rho, step.numbers)
        for k in range(200):
            step = depolarizing(0.1, k % n, n)
            rho = step.act(rho, step.numbers)
            turn = gate("RZ", [0], [0.01], n)
            rho = turn.act(rho, turn.numbers)
        values.append(np.trace(embedded(PAULIS[3], [0], n) @ rho).real)
    register.record()
    for step in (*entangled(n, generator), gate("RX", [0], [angle], n)):
        step.apply(register)
    for k in range(200):
        register.superoperator(np.diag([1, *[1 - 0.4 / 3] * 3]), [k % n])
        register.gate("RZ", [0], 0.01)
    adjoint.call("state_zero")
    adjoint.add_pauli_words([(1e6, "Z", [0])])
    found = register.sweep(adjoint)
    expected = (values[0] - values[1]) / 2 * 1e6
    assert abs(found[len(found) - 201] - expected) < register.within(1e-6, 1e-4) * abs(expected)


def test_what_is_no_number_makes_derivatives_nan(mixed):
    register, adjoint = mixed(2), mixed(2)
    register.record()
    register.gate("RX", [0], 0.1)
    register.gate("RX", [1], np.nan)
    assert np.isnan(register.sweep(adjoint)).all()
