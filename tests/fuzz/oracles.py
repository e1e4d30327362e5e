"""What must hold of a random program, by name: as by others, and as said differently.

An oracle is a strategy for what it needs and a check, which raises `Wrong`. Results that rounding
decides prove nothing: where two differ, the reference is asked again beside the same point, and if
it moves as far itself, the program is `Unstable` and counts for nobody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from hypothesis import strategies as st

import diastase
from diastase import qjit
from fuzz import grammar
from fuzz.gates import MEASUREMENTS
from fuzz.programs import PLAIN, WIRES, State, Style, apply, qnode, random_state, run

Check = Callable[..., None]


class Wrong(AssertionError):
    """Two things that must be equal are not."""


class Unstable(Exception):
    """Rounding decides the result."""


@dataclass(frozen=True)
class Oracle:
    """What is drawn for it, and the check of what was drawn."""

    strategy: st.SearchStrategy
    check: Check


ORACLES: dict[str, Oracle] = {}


def oracle(**drawn: st.SearchStrategy) -> Callable[[Check], Check]:
    """Register a check under the name of its function."""

    def register(check: Check) -> Check:
        ORACLES[check.__name__] = Oracle(st.fixed_dictionaries(drawn), check)
        return check

    return register


def difference(found: Any, expected: Any) -> float:
    """The largest one, relative to numbers above 1; infinite for NaN against a number."""
    largest = 0.0
    leaves = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    for one, other in ((np.asarray(a), np.asarray(b)) for a, b in leaves):
        if one.shape != other.shape:
            raise Wrong(f"shapes {one.shape} and {other.shape}")
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        with np.errstate(invalid="ignore"):
            off = np.where(same, 0.0, np.abs(one - other) / np.maximum(1.0, np.abs(other)))
        largest = max(largest, float(np.max(np.nan_to_num(off, nan=np.inf), initial=0.0)))
    return largest


def must_equal(found: Any, reference: Callable, state: State, tolerance: float = 1e-6) -> None:
    """Compare with the reference at a state, and look beside it before calling it wrong."""
    expected = reference(state)
    off = difference(found, expected)
    if off <= tolerance:
        return
    for factor in (1 - 1e-13, 1 + 1e-13, 1 + 1e-10):
        beside = State(state.v * factor, state.m * factor, state.c * factor, state.k)
        if difference(reference(beside), expected) > min(off, 1.0) / 100:
            raise Unstable
    raise Wrong(f"off by {off}:\n{found}\nis not\n{expected}")


SEED = st.integers(0, 2**16)
LAX = Style(loops="lax")


# Other implementations.


@oracle(program=grammar.PROGRAM, seed=SEED)
def eager_jax_and_default_qubit(program, seed):
    state = random_state(seed)
    found = qjit(lambda s: run(program, s, Style()))(state)
    for one, given in zip(found, state, strict=True):
        if (one.dtype, one.weak_type) != (given.dtype, False):
            raise Wrong(f"{one.dtype}, weak: {one.weak_type}")
    must_equal(found, lambda s: run(program, s, PLAIN), state)


@oracle(gates=grammar.UNITARY, measured=st.sampled_from(sorted(MEASUREMENTS)), seed=SEED)
def default_mixed(gates, measured, seed):
    style = Style(device="default.mixed")
    _circuits_equal(gates, measured, seed, style, PLAIN)


# The same thing said differently.


@oracle(program=grammar.PROGRAM, seed=SEED)
def loops_unrolled(program, seed):
    """Branches stay, as they need a number that is known at run time only."""
    said = qjit(lambda s: run(program, s, Style()))(random_state(seed))
    must_equal(said, qjit(lambda s: run(program, s, LAX)), random_state(seed))


@oracle(program=grammar.PROGRAM, seed=SEED)
def literal(program, seed):
    state = random_state(seed)
    compiled = qjit(lambda: run(program, state, Style()))
    must_equal(compiled(), qjit(lambda s: run(program, s, Style())), state)


@oracle(program=grammar.PROGRAM, seed=SEED, sizes=st.lists(st.integers(4, 9), max_size=2))
def dynamic_size(program, seed, sizes):
    axes = ({0: "n"}, {0: "n", 1: "n"}, {0: "n"}, {})
    dynamic = qjit(lambda *s: tuple(run(program, State(*s), Style())), abstracted_axes=axes)
    for size in (*sizes, 4):
        state = random_state(seed, size)
        must_equal(State(*dynamic(*state)), qjit(lambda s: run(program, s, Style())), state)


@oracle(program=grammar.PROGRAM, seed=SEED, count=st.integers(1, 4))
def mapped(program, seed, count):
    states = [random_state(seed + number) for number in range(count)]
    batch = jax.tree.map(lambda *parts: jnp.stack(parts), *states)
    found = qjit(jax.vmap(lambda s: run(program, s, Style())))(batch)
    of_one = qjit(lambda s: run(program, s, Style()))
    for number, state in enumerate(states):
        must_equal(jax.tree.map(lambda part, n=number: part[n], found), of_one, state)


@oracle(program=grammar.PROGRAM, seed=SEED)
def inside_of_jit(program, seed):
    compiled = qjit(lambda s: run(program, s, Style()))
    must_equal(jax.jit(lambda s: compiled(s))(random_state(seed)), compiled, random_state(seed))


@oracle(program=grammar.PROGRAM, seed=SEED)
def compiled_again(program, seed):
    """To the last bit: from the cache on disk, and of another function object."""
    one, other = (qjit(lambda s: run(program, s, Style()))(random_state(seed)) for _ in range(2))
    if difference(one, other) != 0.0:
        raise Wrong(f"{one}\nis not\n{other}")


@oracle(program=grammar.PROGRAM, seed=SEED)
def split(program, seed):
    middle = len(program) // 2
    first, second = program[:middle], program[middle:]
    state = random_state(seed)
    half = qjit(lambda s: run(first, s, Style()))(state)
    found = qjit(lambda s: run(second, s, Style()))(half)
    must_equal(found, qjit(lambda s: run(program, s, Style())), state)


@oracle(program=grammar.PROGRAM, seed=SEED)
def dead_code(program, seed):
    """What is computed and not returned, and branches that are not taken, change nothing."""

    def burdened(s):
        unused = run(program[::-1], s, Style())
        taken = s.k > 100
        result = run(program, s, Style())
        never = diastase.cond(taken)(lambda: tuple(unused))
        never.otherwise(lambda: tuple(result))
        return State(*never())

    found = qjit(burdened)(random_state(seed))
    must_equal(found, qjit(lambda s: run(program, s, Style())), random_state(seed))


# Derivatives.


def _sum(program, style):
    """One number of all that a program computes of its vector."""

    def function(v, state):
        result = run(program, state._replace(v=v), style)
        weights = jnp.arange(1.0, result.v.shape[0] + 1)
        return (result.v * weights).sum() + (result.m * weights).sum() / 4 + result.c.real.sum()

    return function


@oracle(program=grammar.DIFFERENTIABLE, seed=SEED)
def derivatives(program, seed):
    """Gradient, derivative along a direction and finite differences; of circuits by adjoint."""
    state = random_state(seed)
    direction = random_state(seed + 1).v
    function = _sum(program, Style(options={"diff_method": "adjoint"}))

    @qjit
    def both(v, state):
        gradient = diastase.grad(lambda v: function(v, state))(v)
        along = jax.jvp(lambda v: function(v, state), (v,), (direction,))[1]
        return gradient @ direction, along

    backward, forward = both(state.v, state)
    if difference(backward, forward) > 1e-7:
        raise Wrong(f"gradient: {backward}, jvp: {forward}")
    value = qjit(function)

    def slope(step):
        ahead, behind = (value(state.v + sign * step * direction, state) for sign in (1, -1))
        return float((ahead - behind) / (2 * step))

    fine, coarse = slope(1e-5), slope(2e-5)
    if abs(fine - coarse) > 1e-4 * max(1.0, abs(fine)):
        raise Unstable
    if difference(backward, np.asarray(fine)) > 1e-4:
        raise Wrong(f"gradient: {backward}, finite differences: {fine}")


@oracle(
    gates=grammar.UNITARY,
    measured=st.sampled_from(["word", "sum", "probabilities"]),
    method=st.sampled_from(["parameter-shift", "finite-diff"]),
    seed=SEED,
)
def derivative_methods(gates, measured, method, seed):
    state = random_state(seed)

    def jacobian(method):
        circuit = qnode(gates, measured, Style(options={"diff_method": method}))
        return qjit(lambda v: diastase.jacobian(lambda v: circuit(v, 0))(v))(state.v)

    found, expected = jacobian(method), jacobian("adjoint")
    if difference(found, expected) > (1e-3 if method == "finite-diff" else 1e-7):
        raise Wrong(f"{method}: {found}\nadjoint: {expected}")


# Circuits: what may not change their results.


def _circuits_equal(gates, measured, seed, style, reference, tolerance=1e-7):
    state = random_state(seed)
    compiled = qjit(lambda s: qnode(gates, measured, style)(s.v, s.k - s.k))

    def expected(s):
        circuit = qnode(gates, measured, reference)
        return jnp.asarray(circuit(s.v, 0) if reference is PLAIN else qjit(circuit)(s.v, 0))

    must_equal(compiled(state), expected, state, tolerance)


CIRCUITS = {"gates": grammar.UNITARY, "measured": st.sampled_from(sorted(MEASUREMENTS))}
PASSES = ("cancel_inverses", "merge_rotations", "combine_global_phases", "disentangle_cnot")


@oracle(**CIRCUITS, seed=SEED, names=st.lists(st.sampled_from(PASSES), min_size=1, max_size=3))
def passes(gates, measured, seed, names):
    def transformed(circuit):
        for name in names:
            circuit = diastase.passes.apply_pass(name.replace("_", "-"))(circuit)
        return circuit

    _circuits_equal(gates, measured, seed, Style(transform=transformed), Style())


@oracle(**CIRCUITS, seed=SEED, wires=st.permutations(range(WIRES)))
def wires_relabelled(gates, measured, seed, wires):
    _circuits_equal(gates, measured, seed, Style(wires=tuple(wires)), Style())


@oracle(**CIRCUITS, seed=SEED)
def single_precision(gates, measured, seed):
    state = random_state(seed)
    circuit = qnode(gates, measured, Style())
    found = qjit(lambda v: circuit(v, 0), precision="single")(state.v)
    must_equal(found, lambda s: qjit(lambda v: circuit(v, 0))(s.v), state, 1e-4)


@oracle(**CIRCUITS, seed=SEED)
def zero_noise(gates, measured, seed):
    def silent(wires):
        for wire in wires:
            qml.DepolarizingChannel(0.0, wires=wire)
            qml.AmplitudeDamping(0.0, wires=wire)

    style = Style(device="default.mixed", end=silent)
    _circuits_equal(gates, measured, seed, style, Style())


@oracle(gates=grammar.UNITARY, seed=SEED)
def undone(gates, seed):
    """A circuit and its adjoint are the identity."""
    state = random_state(seed)

    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=WIRES))
    def circuit(v, zero):
        qml.BasisState(np.array([1, 0, 1]), wires=range(WIRES))
        apply(gates, v, zero, Style())
        qml.adjoint(lambda: apply(gates, v, zero, Style()))()
        return qml.state()

    expected = np.zeros(2**WIRES)
    expected[5] = 1
    off = difference(circuit(state.v, 0), expected)
    if off > 1e-9:
        raise Wrong(f"off by {off}")


# Measurements in the middle.


def _mean_of_shots(gates, seed, shots, **options):
    style = Style(options=options)
    measure = lambda: [qml.expval(qml.Z(wire)) for wire in range(WIRES)]  # noqa: E731
    circuit = qml.set_shots(qnode(gates, "", style, measure=measure), shots)
    return np.asarray(qjit(circuit, seed=seed)(random_state(seed).v, 0))


def _exact(gates, seed, style=Style(options={"mcm_method": "deferred"})):  # noqa: B008
    measure = lambda: [qml.expval(qml.Z(wire)) for wire in range(WIRES)]  # noqa: E731
    return np.asarray(qjit(qnode(gates, "", style, measure=measure))(random_state(seed).v, 0))


def _near(found, expected, shots, sigmas=5.5):
    """Means of +1 and -1 beside their expectation values."""
    sigma = np.sqrt(np.maximum(1 - expected**2, 1 / shots) / shots)
    if (np.abs(found - expected) > sigmas * sigma).any():
        raise Wrong(f"means of {shots} shots: {found}\nexact: {expected}")


@oracle(gates=grammar.UNITARY, seed=SEED)
def shots(gates, seed):
    expected = _exact(gates, seed, Style())
    _near(_mean_of_shots(gates, seed, 4000), expected, 4000)


@oracle(gates=grammar.FEEDBACK, seed=SEED)
def one_shot_and_deferred(gates, seed):
    _near(_mean_of_shots(gates, seed, 4000, mcm_method="one-shot"), _exact(gates, seed), 4000)


@oracle(gates=grammar.FEEDBACK, seed=SEED)
def deferred_and_tree_traversal(gates, seed):
    tree = _exact(gates, seed, Style(options={"mcm_method": "tree-traversal"}))
    mixed = _exact(gates, seed, Style(device="default.mixed"))
    expected = _exact(gates, seed)
    if max(difference(tree, expected), difference(mixed, expected)) > 1e-7:
        raise Wrong(f"deferred: {expected}\ntree: {tree}\ndefault.mixed: {mixed}")


@oracle(gates=grammar.CLIFFORD, seed=SEED)
def clifford(gates, seed):
    """A stabiliser simulator beside amplitudes."""

    def by(method):
        style = Style(transform=diastase.set_method(method), begin=lambda wires: None)
        return _exact(gates, seed, style)

    found, expected = by("clifford"), by("statevector")
    if difference(found, expected) > 1e-9:
        raise Wrong(f"clifford: {found}\nstatevector: {expected}")
