"""Circuits: as density matrices give them, and what may not change their results."""

import numpy as np
import pennylane as qml
from hypothesis import strategies as st

from diastase import qjit
from fuzz import grammar
from fuzz.gates import MEASUREMENTS
from fuzz.judging import SEED, Wrong, difference, must_equal, oracle
from fuzz.programs import (
    PLAIN,
    WIRES,
    Style,
    apply,
    distributed,
    footprint,
    plainly,
    qnode,
    random_state,
    with_passes,
)


def _circuits_equal(gates, measured, seed, style, reference, tolerance=1e-7):
    state = random_state(seed)
    compiled = qjit(lambda s: qnode(gates, measured, style)(s.v, s.k - s.k))

    if reference is PLAIN:
        expected = plainly(gates, measured, PLAIN)
    else:
        expected = qjit(lambda s: qnode(gates, measured, reference)(s.v, 0))
    must_equal(compiled(state), expected, state, tolerance)


CIRCUITS = {"gates": grammar.UNITARY, "measured": st.sampled_from(sorted(MEASUREMENTS))}


@oracle(**CIRCUITS, seed=SEED)
def default_qubit(gates, measured, seed):
    """A circuit by itself, which takes a tenth of the time of a program around it."""
    _circuits_equal(gates, measured, seed, Style(), PLAIN)


@oracle(**CIRCUITS, seed=SEED)
def default_mixed(gates, measured, seed):
    style = Style(device="default.mixed")
    _circuits_equal(gates, measured, seed, style, PLAIN)


@oracle(
    **CIRCUITS,
    seed=SEED,
    names=st.lists(st.sampled_from(grammar.PASSES), min_size=2, max_size=5),
)
def passes(gates, measured, seed, names):
    style = Style(transform=lambda circuit: with_passes(circuit, names))
    _circuits_equal(gates, measured, seed, style, Style())


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
        qml.BasisState(np.array([1, 0, 1, 0]), wires=range(WIRES))
        apply(gates, v, zero, Style())
        qml.adjoint(lambda: apply(gates, v, zero, Style()))()
        return qml.state()

    expected = np.zeros(2**WIRES)
    expected[0b1010] = 1
    off = difference(circuit(state.v, 0), expected)
    if off > 1e-9:
        raise Wrong(f"off by {off}")


# Spectators.


@oracle(**CIRCUITS, seed=SEED, wires=st.permutations(range(16)), register=st.integers(4, 16))
def larger_register(gates, measured, seed, wires, register):
    """Wires that nothing is done to: the kernels of large states, and their threads."""
    wires = tuple(wire for wire in wires if wire < register)[:WIRES]
    _circuits_equal(gates, measured, seed, Style(wires=wires, register=register), Style())


@oracle(**CIRCUITS, seed=SEED, swaps=st.lists(st.integers(0, 3), min_size=1, max_size=6))
def commuting_gates(gates, measured, seed, swaps):
    """Neighbours on different wires, in the other order."""
    state = random_state(seed)
    reordered = list(gates)
    for place in swaps:
        pair = reordered[place : place + 2]
        if len(pair) == 2 and not footprint(pair[:1]) & footprint(pair[1:]):
            reordered[place : place + 2] = pair[::-1]
    found = qjit(lambda s: qnode(reordered, measured, Style())(s.v, s.k - s.k))(state)
    must_equal(found, _compiled(gates, measured), state, 1e-9)


@oracle(**CIRCUITS, wire=st.integers(0, WIRES - 1), seed=SEED)
def control_inside(gates, measured, wire, seed):
    """A controlled circuit, and the circuit of controlled gates."""
    state = random_state(seed)
    start = [block for block in gates if block == ["spread"]]
    rest = gates[len(start) :]
    outside = [*start, ["controlled", wire, rest]]
    found = qjit(lambda s: qnode(outside, measured, Style())(s.v, s.k - s.k))(state)
    must_equal(found, _compiled([*start, *distributed(rest, wire)], measured), state, 1e-9)


def _compiled(gates, measured):
    return qjit(lambda s: qnode(gates, measured, Style())(s.v, s.k - s.k))
