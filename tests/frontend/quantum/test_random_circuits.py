"""Random circuits in random nests of control flow, compiled, against PennyLane on default.qubit.

A circuit is a list of statements: gates, loops, branches, `adjoint`, `ctrl`, each in one of its
forms (ours, PennyLane's, JAX's), with numbers and wires that are known or traced. `Compiled` says
what a statement is in a compiled program, `Interpreted` what it means, in plain Python. A value `z`
goes through all of it; it is what loops carry, and branches and functions return.

The number of circuits is `DIASTASE_RANDOM_CIRCUITS` (40 unless set), for a long run:

    DIASTASE_RANDOM_CIRCUITS=2000 pytest tests/frontend/quantum/test_random_circuits.py
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

from diastase import adjoint, cond, ctrl, for_loop, qjit, switch, while_loop
from sampled import examples

CIRCUITS = int(os.environ.get("DIASTASE_RANDOM_CIRCUITS", examples(40)))
AT_A_TIME = 10
"""Circuits in one compiled program."""
WIRES = 4
DEPTH = 3
"""Of the deepest nest."""
THRESHOLD = 0.2137123
"""Of branches: no number that comes out alike but for rounding."""
Body = Callable[..., Any]

GATES = {
    1: "Hadamard PauliX PauliY PauliZ S T SX RX RY RZ PhaseShift Rot U2 U3 GlobalPhase Unitary",
    2: "CNOT CZ CH CRX CRY CRot SWAP ISWAP SISWAP ECR IsingXY IsingZZ PSWAP SingleExcitation",
    3: "Toffoli CSWAP MultiRZ PauliRot QFT",
    4: "DoubleExcitation OrbitalRotation",
}
"""By the number of wires."""
ANGLES = {"Rot": 3, "U3": 3, "U2": 2, "CRot": 3} | dict.fromkeys(
    "RX RY RZ PhaseShift GlobalPhase Unitary CRX CRY IsingXY IsingZZ PSWAP SingleExcitation "
    "MultiRZ PauliRot DoubleExcitation OrbitalRotation".split(),
    1,
)


# --- values and wires ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Environment:
    """What a statement can use."""

    reals: Any
    integers: Any
    z: Any
    index: Any = 0
    wires: tuple[int, ...] = tuple(range(WIRES))
    """Those that are not controls of what is around."""


def number(term: tuple[str, Any], env: Environment) -> Any:
    """A real number, for an angle or a predicate."""
    kind, value = term
    if kind == "known":
        return value
    if kind == "traced":
        return env.reals[value % 3]
    return {"z": env.z, "index": 0.3 * env.index + env.reals[0]}[kind]


def integer(term: tuple[str, int], env: Environment) -> Any:
    """A small integer, for a wire, a bound or a case; as traced as its kind says."""
    kind, value = term
    if kind == "known":
        return value
    return value + (env.integers[value % 3] if kind == "traced" else env.index)


# --- statements ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gate:
    name: str
    places: tuple[tuple[str, int], ...]
    angles: tuple[tuple[str, Any], ...]
    inverted: bool


@dataclass(frozen=True)
class Nest:
    """Control flow, `adjoint` or `ctrl` around bodies."""

    kind: str
    form: str
    bodies: tuple[tuple[Any, ...], ...]
    integers: tuple[tuple[str, int], ...]
    number: tuple[str, Any]


def run(statements: Sequence[Any], env: Environment, how: Any) -> Any:
    """Do what a list of statements says; the value of `z` after it."""
    for statement in statements:
        if isinstance(statement, Gate):
            apply_gate(statement, env, how)
            env = replace(env, z=env.z * 1.25 - 0.5)
        else:
            env = replace(env, z=run_nest(statement, env, how))
    return env.z


def apply_gate(gate: Gate, env: Environment, how: Any) -> None:
    if len(gate.places) > len(env.wires):
        return
    start, *others = (integer(place, env) for place in gate.places)
    # Distinct whatever the first one is: the others are counted from it.
    wires = [how.wire(env.wires, start + distance) for distance in range(1 + len(others))]
    angles = [number(angle, env) for angle in gate.angles]

    def apply() -> Any:
        if gate.name == "Unitary":
            return qml.QubitUnitary(how.matrix(angles[0]), wires=wires)
        if gate.name == "PauliRot":
            return qml.PauliRot(angles[0], "XZY", wires=wires)
        if gate.name == "GlobalPhase":
            return qml.GlobalPhase(angles[0])
        return getattr(qml, gate.name)(*angles, wires=wires)

    operator = apply()
    if gate.inverted:
        qml.adjoint(operator)


def run_nest(nest: Nest, env: Environment, how: Any) -> Any:
    def body(which: int) -> Body:
        return lambda index, z, wires=env.wires: run(
            nest.bodies[which], replace(env, index=index, z=z, wires=wires), how
        )

    first, second = (integer(term, env) for term in nest.integers)
    if nest.kind == "for":
        return how.for_loop(nest.form, first % 3, first % 3 + second % 4, body(0), env.z)
    if nest.kind == "while":
        return how.while_loop(nest.form, first % 4, body(0), env.z)
    if nest.kind == "rows":
        return how.rows(nest.form, env.reals, lambda a, z: body(0)(env.index, z + a), env.z)
    if nest.kind == "cond":
        predicate = number(nest.number, env) > THRESHOLD
        branches = [lambda z, k=k: body(k)(env.index, z) for k in range(2)]
        return how.cond(nest.form, predicate, branches, env.z)
    if nest.kind == "switch":
        branches = [lambda z, k=k: body(k)(env.index, z) for k in range(3)]
        return how.switch(nest.form, first % 5 - 1, branches, env.z)
    if nest.kind == "adjoint":
        return how.adjoint(nest.form, lambda z: body(0)(env.index, z), env.z)
    if len(env.wires) < 3:
        return env.z
    wires = env.wires
    # The control may be traced, so none of those that it could be is free inside.
    control = how.wire(wires[:2], first) if nest.integers[0][0] != "known" else wires[0]
    value = second % 2
    free = wires[2:]
    return how.ctrl(nest.form, lambda z: body(0)(env.index, z, free), control, value, env.z)


# --- what statements are in a compiled program, and what they mean -------------------------------


class Compiled:
    """The constructs under test."""

    def wire(self, wires: Sequence[int], place: Any) -> Any:
        known = isinstance(place, int)
        return wires[place % len(wires)] if known else jnp.asarray(wires)[place % len(wires)]

    def matrix(self, angle: Any) -> Any:
        return jnp.array([[0, 1], [jnp.exp(1j * angle), 0]])

    def for_loop(self, form: str, lower: Any, upper: Any, body: Body, z: Any) -> Any:
        if form == "jax":
            return lax.fori_loop(lower, upper, body, z)
        return {"ours": for_loop, "pennylane": qml.for_loop}[form](lower, upper, 1)(body)(z)

    def while_loop(self, form: str, count: Any, body: Body, z: Any) -> Any:
        def step(k: Any, z: Any) -> tuple[Any, Any]:
            return k + 1, body(k, z)

        if form == "jax":
            return lax.while_loop(lambda s: s[0] < count, lambda s: step(*s), (0, z))[1]
        loop = {"ours": while_loop, "pennylane": qml.while_loop}[form]
        return loop(lambda k, z: k < count)(step)(0, z)[1]

    def rows(self, form: str, values: Any, body: Body, z: Any) -> Any:
        if form == "ours":
            return lax.scan(lambda z, a: (body(a, z), None), z, values)[0]
        each = jax.vmap if form == "jax" else lambda f: lambda values: lax.map(f, values)
        return z + 0.1 * each(lambda a: body(a, z))(values).sum()

    def cond(self, form: str, predicate: Any, branches: Sequence[Body], z: Any) -> Any:
        if form == "jax":
            return lax.cond(predicate, *branches, z)
        if form == "pennylane":
            return qml.cond(predicate, branches[0], branches[1])(z)
        chosen = cond(predicate)(branches[0])
        chosen.otherwise(branches[1])
        return chosen(z)

    def switch(self, form: str, index: Any, branches: Sequence[Body], z: Any) -> Any:
        if form == "jax":
            return lax.switch(index, branches, z)
        if form == "pennylane":
            others = [(index == 1, branches[1])]
            return qml.cond(index <= 0, branches[0], branches[2], others)(z)
        chosen = switch(index)(branches[2])
        for case, branch in ((-1, 0), (0, 0), (1, 1)):
            chosen.branch(case)(branches[branch])
        return chosen(z)

    def adjoint(self, form: str, body: Body, z: Any) -> Any:
        return (qml.adjoint if form == "pennylane" else adjoint)(body)(z)

    def ctrl(self, form: str, body: Body, control: Any, value: Any, z: Any) -> Any:
        return (qml.ctrl if form == "pennylane" else ctrl)(body, control, value)(z)


class Interpreted:
    """Plain Python, and PennyLane's `adjoint` and `ctrl` of what it records."""

    def wire(self, wires: Sequence[int], place: Any) -> int:
        return wires[int(place) % len(wires)]

    def matrix(self, angle: Any) -> Any:
        return np.array([[0, 1], [np.exp(1j * angle), 0]])

    def for_loop(self, form: str, lower: Any, upper: Any, body: Body, z: Any) -> Any:
        for index in range(int(lower), int(upper)):
            z = body(index, z)
        return z

    def while_loop(self, form: str, count: Any, body: Body, z: Any) -> Any:
        return self.for_loop(form, 0, count, body, z)

    def rows(self, form: str, values: Any, body: Body, z: Any) -> Any:
        if form != "ours":
            return z + 0.1 * sum(body(a, z) for a in values)
        for a in values:
            z = body(a, z)
        return z

    def cond(self, form: str, predicate: Any, branches: Sequence[Body], z: Any) -> Any:
        return branches[0 if predicate else 1](z)

    def switch(self, form: str, index: Any, branches: Sequence[Body], z: Any) -> Any:
        return branches[min(max(int(index), 0), 2)](z)

    def adjoint(self, form: str, body: Body, z: Any) -> Any:
        returned = []
        qml.adjoint(lambda: returned.append(body(z)))()
        return returned[0]

    def ctrl(self, form: str, body: Body, control: Any, value: Any, z: Any) -> Any:
        returned = []
        qml.ctrl(lambda: returned.append(body(z)), control, int(value))()
        return returned[0]


# --- random circuits -----------------------------------------------------------------------------

KINDS = ("known", "traced", "index")
FORMS = ("ours", "pennylane", "jax")
BODIES = {"for": 1, "while": 1, "rows": 1, "cond": 2, "switch": 3, "adjoint": 1, "ctrl": 1}
"""How many each kind of nest has."""
MEASUREMENTS = {
    "state": qml.state,
    "probs": lambda: qml.probs(wires=[2, 0]),
    "expval": lambda: qml.expval(qml.Z(0) @ qml.X(2) + 0.5 * qml.Y(3)),
}


def a_term(rng: Random) -> tuple[str, int]:
    return rng.choice(KINDS), rng.randrange(6)


def a_number(rng: Random) -> tuple[str, Any]:
    kind = rng.choice(("known", "traced", "z", "index"))
    return kind, round(rng.uniform(-3, 3), 3) if kind == "known" else rng.randrange(3)


def a_gate(rng: Random) -> Gate:
    count = rng.choice((1, 1, 1, 2, 2, 2, 3, 4))
    name = rng.choice(GATES[count].split())
    places = tuple(a_term(rng) for _ in range(count))
    angles = tuple(a_number(rng) for _ in range(ANGLES.get(name, 0)))
    return Gate(name, places, angles, rng.random() < 0.3)


def a_nest(rng: Random, depth: int) -> Nest:
    kind = rng.choice(list(BODIES))
    bodies = tuple(a_block(rng, depth - 1) for _ in range(BODIES[kind]))
    return Nest(kind, rng.choice(FORMS), bodies, (a_term(rng), a_term(rng)), a_number(rng))


def a_block(rng: Random, depth: int) -> tuple[Any, ...]:
    """A gate or two, a nest (at least one in the outermost), and perhaps a gate."""
    statements: list[Any] = [a_gate(rng) for _ in range(rng.choice((1, 1, 2)))]
    if depth == DEPTH or (depth > 0 and rng.random() < 0.6):
        statements.append(a_nest(rng, depth))
    return (*statements, *(a_gate(rng) for _ in range(rng.choice((0, 0, 1)))))


def a_circuit(rng: Random) -> tuple[Any, str]:
    return a_block(rng, DEPTH), rng.choice(sorted(MEASUREMENTS))


def qnode_of(circuit: tuple[Any, str], how: Any) -> Any:
    statements, measurement = circuit

    @qml.qnode(qml.device("default.qubit", wires=WIRES))
    def qnode(reals: Any, integers: Any) -> Any:
        for wire in range(WIRES):
            qml.RY(0.4 + wire, wire)
            qml.RZ(0.3 * wire, wire)
            qml.CNOT([wire, (wire + 1) % WIRES])
        z = run(statements, Environment(reals, integers, reals[1]), how)
        qml.RX(z, 0)
        return MEASUREMENTS[measurement]()

    return qnode


@settings(
    max_examples=max(1, CIRCUITS // AT_A_TIME),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    st.integers(0, 2**63),
    st.lists(st.floats(-3, 3), min_size=3, max_size=3),
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
)
def test_random_circuits(seed: int, reals: Any, integers: Any) -> None:
    """hypothesis gives numbers and seeds; circuits of its own making would be mostly small."""
    rng = Random(repr((seed, reals, integers)))
    drawn = [a_circuit(rng) for _ in range(AT_A_TIME)]
    arguments = np.array(reals), np.array(integers)
    compiled = qjit(lambda *values: [qnode_of(one, Compiled())(*values) for one in drawn])
    found = compiled(*arguments)
    for circuit, result in zip(drawn, found, strict=True):
        expected = qnode_of(circuit, Interpreted())(*arguments)
        np.testing.assert_allclose(result, expected, atol=1e-8, err_msg=repr(circuit))
