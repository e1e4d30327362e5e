"""What a random program does: one meaning, said in several ways.

A `Style` is a way to say it: how loops and branches are written, on which device circuits run, and
what is done to a circuit that may not change its results. `PLAIN` is the reference: Python's own
control flow, eager JAX and PennyLane's `default.qubit`, without any of ours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
from jax import lax

import diastase
from fuzz.gates import CHANNELS, GATES, MEASUREMENTS, as_numbers
from fuzz.steps import STEPS

WIRES = 3


class State(NamedTuple):
    """What statements work on; the matrix is square, all three arrays have one size."""

    v: Any
    m: Any
    c: Any
    k: Any


def rotations(wires: Sequence[int]) -> None:
    """No wire is left in a state in which gates do nothing."""
    for number, wire in enumerate(wires):
        qml.RY(0.4 * number + 0.3, wire)


@dataclass(frozen=True)
class Style:
    """How a program is said."""

    loops: str = "ours"
    """`ours`, `lax` or `python`."""

    wires: tuple[int, ...] = (0, 1, 2)
    """What each wire is called."""

    register: int | None = 3
    """Wires of the device; None: as many as a circuit has, and what it defers measurements to."""

    device: str = "lightning.qubit"
    """Of circuits without noise."""

    options: dict = field(default_factory=dict)
    """Of the QNode."""

    transform: Callable = lambda qnode: qnode
    begin: Callable[[Sequence[int]], None] = rotations
    """What a circuit begins with, on its wires as they are called."""

    end: Callable[[Sequence[int]], None] = lambda wires: None


PLAIN = Style(loops="python", device="default.qubit", register=None)


def random_state(seed: int, size: int = 4) -> State:
    """Numbers that a program begins with."""
    random = np.random.default_rng(seed)
    v, m = random.normal(size=size), random.normal(size=(size, size))
    c = random.normal(size=size) + 1j * random.normal(size=size)
    return State(*map(jnp.asarray, (v, m, c / 2, random.integers(0, 9))))


def run(program: list, state: State, style: Style) -> State:
    """Apply the statements of a program in order."""
    for kind, *parts in program:
        state = _STATEMENTS[kind](state, style, *parts)
        state = State(*map(jnp.asarray, state))
    return state


def _step(state, style, name):
    array, step = STEPS[name]
    old = getattr(state, array)
    return state._replace(**{array: jnp.asarray(step(state), old.dtype)})


def _circuit(state, style, gates, measured, passes=()):
    zero = 0 if style.loops == "python" else state.k - state.k
    if has(gates, "channel"):
        style = replace(style, device="default.mixed")
    if has(gates, "measure"):
        style = replace(style, options={**style.options, "mcm_method": "deferred"})
    circuit = qnode(gates, measured, style)
    if style.loops != "python":
        circuit = with_passes(circuit, passes)
    numbers = as_numbers(circuit(state.v[:4], zero))
    return state._replace(v=state.v.at[:4].set(jnp.asarray(numbers, state.v.dtype)))


def _for(state, style, trips, body):
    """So many iterations; None: as many as the integer says, known at run time only."""
    trips = state.k % 4 if trips is None else trips

    def turn(i, *carry):
        carry = run(body, State(*carry), style)
        return tuple(carry._replace(k=(carry.k + i).astype(carry.k.dtype)))

    if style.loops == "python":
        for i in range(int(trips)):
            state = State(*turn(i, *state))
        return state
    if style.loops == "ours":
        return State(*diastase.for_loop(0, trips, 1)(turn)(*state))
    if not isinstance(trips, int):
        return lax.fori_loop(0, trips, lambda i, carry: State(*turn(i, *carry)), state)
    turns = jnp.arange(trips)
    return lax.scan(lambda carry, i: (State(*turn(i, *carry)), None), state, turns)[0]


def _while(state, style, trips, body):
    def turn(i, *carry):
        return (i + 1, *run(body, State(*carry), style))

    def goes_on(i, *_):
        return i < trips

    if style.loops == "python":
        for _ in range(trips):
            state = run(body, state, style)
        return state
    if style.loops == "ours":
        return State(*diastase.while_loop(goes_on)(turn)(0, *state)[1:])
    carry = lax.while_loop(lambda c: goes_on(*c), lambda c: turn(*c), (0, *state))
    return State(*carry[1:])


def _if(state, style, first, second):
    return _chosen(state, style, state.k % 2, [first, second])


def _switch(state, style, bodies):
    return _chosen(state, style, state.k % len(bodies), bodies)


def _chosen(state, style, number, bodies):
    branches = [lambda *s, body=body: tuple(run(body, State(*s), style)) for body in bodies]
    if style.loops == "python":
        return State(*branches[int(number)](*state))
    if style.loops == "ours" and len(bodies) == 2:
        conditional = diastase.cond(number == 0)(lambda: branches[0](*state))
        conditional.otherwise(lambda: branches[1](*state))
        return State(*conditional())
    return State(*lax.switch(number, branches, *state))


def _map(state, style, body):
    """The mean of the program on two vectors."""
    vectors = jnp.stack([state.v, state.v[::-1] / 2])

    def of_one(v):
        return run(body, state._replace(v=v), style)

    if style.loops == "python":
        both = jax.tree.map(lambda *parts: jnp.stack(parts), *map(of_one, vectors))
    else:
        both = jax.vmap(of_one)(vectors)
    return State(both.v.mean(0), both.m.mean(0), both.c.mean(0), both.k[0])


def _jit(state, style, body):
    if style.loops == "python":
        return run(body, state, style)
    return jax.jit(lambda s: run(body, s, style))(state)


_STATEMENTS = {
    "step": _step,
    "circuit": _circuit,
    "for": _for,
    "while": _while,
    "if": _if,
    "switch": _switch,
    "map": _map,
    "jit": _jit,
}


def has(gates: list, sought: str) -> bool:
    """Whether there is a gate of a kind, at any depth."""
    return any(
        block[0] == sought or any(has(part, sought) for part in block if _is_body(part))
        for block in gates
    )


def _is_body(part: Any) -> bool:
    return isinstance(part, list) and bool(part) and isinstance(part[0], list)


def footprint(gates: list) -> set[int]:
    """The wires that gates act on."""
    wires: set[int] = set()
    for kind, *parts in gates:
        if kind == "gate":
            wires |= set(parts[2])
        elif kind in ("matrix", "channel"):
            wires.add(parts[-1])
        elif kind in ("controlled", "measure"):
            wires.add(parts[0])
        for body in filter(_is_body, parts):
            wires |= footprint(body)
    return wires


def distributed(gates: list, wire: int) -> list:
    """Put a control around each gate, at any depth, instead of around all of them."""

    def of_one(block):
        if block[0] in ("gate", "matrix"):
            return ["controlled", wire, [block]]
        return [distributed(part, wire) if _is_body(part) else part for part in block]

    return [of_one(block) for block in gates]


def with_passes(circuit: Callable, names: Sequence[str]) -> Callable:
    """Apply passes of the compiler to a QNode, the first of them first."""
    for name in names:
        circuit = diastase.passes.apply_pass(name)(circuit)
    return circuit


def qnode(gates: list, measured: str, style: Style, **parts: Callable) -> Callable:
    """Make a circuit of numbers and a zero, which is known at run time only."""
    called = style.wires
    measure = parts.get("measure", lambda: MEASUREMENTS[measured](*called))

    def circuit(numbers, zero):
        style.begin(called)
        apply(gates, numbers, zero, style)
        style.end(called)
        return measure()

    device = qml.device(style.device, wires=style.register)
    return style.transform(qml.QNode(circuit, device, **style.options))


def apply(gates: list, numbers: Any, zero: Any, style: Style, taken: tuple = ()) -> None:
    """Apply gates; those on a wire in `taken`, which controls all of them, are left out."""
    for kind, *parts in gates:
        _GATES[kind](numbers, zero, style, taken, *parts)


def _gate(numbers, zero, style, taken, name, places, wires, is_traced):
    if set(wires) & set(taken):
        return
    called = [style.wires[wire] + zero if is_traced else style.wires[wire] for wire in wires]
    getattr(qml, name)(*(numbers[place] for place in places), wires=called)


def _matrix(numbers, zero, style, taken, place, wire):
    if wire in taken:
        return
    angle = numbers[place]
    turn = jnp.array([[jnp.cos(angle), -jnp.sin(angle)], [jnp.sin(angle), jnp.cos(angle)]])
    qml.QubitUnitary(turn * jnp.exp(0.5j * angle), wires=style.wires[wire])


def _channel(numbers, zero, style, taken, name, places, wire):
    strengths = [0.2 * (1 + jnp.sin(3 * numbers[place])) for place in places]
    getattr(qml, name)(*strengths, wires=style.wires[wire])


def _adjoint(numbers, zero, style, taken, body):
    qml.adjoint(lambda: apply(body, numbers, zero, style, taken))()


def _controlled(numbers, zero, style, taken, wire, body):
    taken = (*taken, wire)
    if len(taken) == len(set(taken)) and any(reaches(body, taken)):
        inner = lambda: apply(body, numbers, zero, style, taken)  # noqa: E731
        qml.ctrl(inner, control=style.wires[wire])()


def reaches(gates: list, taken: tuple):
    """For each gate that is applied beside controls: True, so `any` says whether there is one."""
    for kind, *parts in gates:
        if kind == "gate":
            yield not set(parts[2]) & set(taken)
        elif kind == "matrix":
            yield parts[1] not in taken
        elif kind in ("adjoint", "repeat"):
            yield from reaches(parts[-1], taken)
        elif kind == "controlled":
            yield parts[0] not in taken and any(reaches(parts[1], (*taken, parts[0])))
        elif kind == "choose":
            yield from reaches([*parts[1], *parts[2]], taken)


def _repeat(numbers, zero, style, taken, trips, is_traced, body):
    def turn(i, numbers):
        apply(body, numbers, zero, style, taken)
        return numbers * 0.7 + 0.1 * i

    if style.loops == "python":
        for i in range(trips):
            numbers = turn(i, numbers)
    elif style.loops == "ours":
        diastase.for_loop(0, trips + zero if is_traced else trips, 1)(turn)(numbers)
    else:
        lax.fori_loop(0, trips + zero if is_traced else trips, turn, numbers)


def _choose(numbers, zero, style, taken, place, first, second):
    branches = [
        lambda body=body: apply(body, numbers, zero, style, taken) for body in (first, second)
    ]
    if style.loops == "python":
        return branches[0 if numbers[place] > 0.1 else 1]()
    conditional = diastase.cond(numbers[place] > 0.1)(branches[0])
    conditional.otherwise(branches[1])
    return conditional()


def _measure(numbers, zero, style, taken, wire, reset, body):
    outcome = qml.measure(style.wires[wire], reset=reset)
    for gate in body:
        qml.cond(outcome, lambda gate=gate: apply([gate], numbers, zero, style, taken))()


_GATES = {
    "gate": _gate,
    "matrix": _matrix,
    "channel": _channel,
    "adjoint": _adjoint,
    "controlled": _controlled,
    "repeat": _repeat,
    "choose": _choose,
    "measure": _measure,
}
assert (GATES.keys() | CHANNELS.keys()).isdisjoint(_GATES)
