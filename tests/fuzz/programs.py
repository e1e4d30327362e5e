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
from fuzz.grammar import WIRES, is_body
from fuzz.steps import STEPS


class State(NamedTuple):
    """What statements work on; the matrix is square, all four arrays have one size."""

    v: Any
    m: Any
    c: Any
    k: Any
    w: Any

    def moved(self, factor: float) -> "State":
        """A state beside this one."""
        return State(*(part if part is self.k else part * factor for part in self))


@dataclass(frozen=True)
class Style:
    """How a program is said."""

    loops: str = "ours"
    """`ours`, `lax` or `python`."""

    wires: tuple[int, ...] = tuple(range(WIRES))
    """What each wire is called."""

    register: int | None = WIRES
    """Wires of the device; None: as many as a circuit has, and what it defers measurements to."""

    device: str = "lightning.qubit"
    """Of circuits without noise."""

    options: dict = field(default_factory=dict)
    """Of the QNode."""

    transform: Callable = lambda qnode: qnode
    end: Callable[[Sequence[int]], None] = lambda wires: None
    """What a circuit ends with, on its wires as they are called."""


PLAIN = Style(loops="python", device="default.qubit", register=None)


def random_state(seed: int, size: int = 4) -> State:
    """Numbers that a program begins with."""
    random = np.random.default_rng(seed)
    v, m = random.normal(size=size), random.normal(size=(size, size))
    c = random.normal(size=size) + 1j * random.normal(size=size)
    k, w = random.integers(0, 9), random.normal(size=size)
    return State(*map(jnp.asarray, (v, m, c / 2, k, w)))


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
    given = state.v[:4]
    if style.loops == "python":  # default.qubit is several times faster on arrays of NumPy
        given = np.asarray(given)
    numbers = as_numbers(circuit(given, zero))
    numbers = jnp.asarray(numbers - state.v[:4] / 4, state.v.dtype)
    return state._replace(v=state.v.at[:4].set(numbers))


ALL = "vmckw"


def _turn(state, style, body, carried):
    """A loop's body, of what it carries to what it carries; all else it finds where it began."""

    def turn(i, *carry):
        new = run(body, state._replace(**dict(zip(carried, carry, strict=True))), style)
        new = new._replace(k=(new.k + i).astype(new.k.dtype))
        return tuple(getattr(new, name) for name in carried)

    return turn


def _for(state, style, trips, body, carried=ALL):
    """So many iterations; None: as many as the integer says, known at run time only."""
    trips = state.k % 4 if trips is None else trips
    turn = _turn(state, style, body, carried)
    carry = tuple(getattr(state, name) for name in carried)
    if style.loops == "python":
        for i in range(int(trips)):
            carry = turn(i, *carry)
    elif style.loops == "ours":
        carry = diastase.for_loop(0, trips, 1)(turn)(*carry)
        carry = carry if isinstance(carry, tuple) else (carry,)
    elif not isinstance(trips, int):
        carry = lax.fori_loop(0, trips, lambda i, carry: turn(i, *carry), carry)
    else:
        turns = jnp.arange(trips)
        carry = lax.scan(lambda carry, i: (turn(i, *carry), None), carry, turns)[0]
    return state._replace(**dict(zip(carried, carry, strict=True)))


def _while(state, style, trips, body, carried=ALL):
    """Until a number that is carried is reached, or, None, one that is known at run time only."""
    trips = state.k % 3 if trips is None else trips
    inner = _turn(state, style, body, carried)
    carry = tuple(getattr(state, name) for name in carried)

    def turn(i, *carry):
        return (i + 1, *inner(0, *carry))

    def goes_on(i, *_):
        return i < trips

    if style.loops == "python":
        for _ in range(int(trips)):
            carry = inner(0, *carry)
    elif style.loops == "ours":
        carry = diastase.while_loop(goes_on)(turn)(0, *carry)[1:]
    else:
        carry = lax.while_loop(lambda c: goes_on(*c), lambda c: turn(*c), (0, *carry))[1:]
    return state._replace(**dict(zip(carried, carry, strict=True)))


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
    """The mean of the program on two vectors, of which each has its own integer."""
    vectors = jnp.stack([state.v, state.v[::-1] / 2])
    numbers = jnp.stack([state.k, (state.k + 1) % 9])

    def of_one(v, k):
        return run(body, state._replace(v=v, k=k.astype(state.k.dtype)), style)

    if style.loops == "python":
        both = jax.tree.map(lambda *parts: jnp.stack(parts), *map(of_one, vectors, numbers))
    else:
        both = jax.vmap(of_one)(vectors, numbers)
    return State(*(part[0] if part is both.k else part.mean(0) for part in both))


def _exchange(state, _):
    """Two arrays of one type change places."""
    return state._replace(v=state.w, w=state.v)


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
    "exchange": _exchange,
}


def has(gates: list, sought: str) -> bool:
    """Whether there is a gate of a kind, at any depth."""
    return any(
        block[0] == sought or any(has(part, sought) for part in block if is_body(part))
        for block in gates
    )


def footprint(gates: list) -> set[int]:
    """The wires that gates act on."""
    wires: set[int] = set()
    for kind, *parts in gates:
        if kind == "gate":
            wires |= set(parts[2])
        elif kind in ("matrix", "diagonal"):
            wires |= set(parts[1])
        elif kind == "channel":
            wires.add(parts[-1])
        elif kind == "spread":
            wires |= set(range(WIRES))
        elif kind in ("controlled", "measure"):
            wires.add(parts[0])
        for body in filter(is_body, parts):
            wires |= footprint(body)
    return wires


def distributed(gates: list, wire: int) -> list:
    """Put a control around each gate, at any depth, instead of around all of them."""

    def of_one(block):
        if block[0] in _LEAVES:
            return ["controlled", wire, [block]]
        return [distributed(part, wire) if is_body(part) else part for part in block]

    return [of_one(block) for block in gates]


def with_passes(circuit: Callable, names: Sequence[str]) -> Callable:
    """Apply passes of the compiler to a QNode, the first of them first."""
    for name in names:
        circuit = diastase.passes.apply_pass(name)(circuit)
    return circuit


def qnode(gates: list, measured: str, style: Style, **parts: Callable) -> Callable:
    """Make a circuit of numbers and a zero, which is known at run time only."""
    called = style.wires
    measure = parts.get("measure", lambda: MEASUREMENTS[measured](*called[:3]))

    def circuit(numbers, zero):
        apply(gates, numbers, zero, style)
        style.end(called)
        return measure()

    device = qml.device(style.device, wires=style.register)
    return style.transform(qml.QNode(circuit, device, **style.options))


def plainly(gates: list, measured: str, style: Style) -> Callable[[State], np.ndarray]:
    """A circuit as PennyLane runs it; on arrays of NumPy, which is several times faster."""
    circuit = qnode(gates, measured, style)
    return lambda state: np.asarray(circuit(np.asarray(state.v), 0))


def apply(gates: list, numbers: Any, zero: Any, style: Style, taken: tuple = ()) -> None:
    """Apply gates; those on a wire in `taken`, which controls all of them, are left out."""
    for kind, *parts in gates:
        _GATES[kind](numbers, zero, style, taken, *parts)


def _gate(numbers, zero, style, taken, name, places, wires, is_traced):
    if set(wires) & set(taken):
        return
    called = [style.wires[wire] + zero if is_traced else style.wires[wire] for wire in wires]
    getattr(qml, name)(*(numbers[place] for place in places), wires=called)


def _spread(numbers, zero, style, taken):
    """No wire is left in a state in which gates do nothing."""
    for number, wire in enumerate(style.wires):
        if number not in taken:
            qml.RY(0.4 * number + 0.3, wire)


def _matrix(numbers, zero, style, taken, place, wires):
    """On two wires, it entangles."""
    if set(wires) & set(taken):
        return
    xp = np if isinstance(numbers, np.ndarray) else jnp
    angle = numbers[place]
    sine, cosine = xp.sin(angle), xp.cos(angle)
    turn = xp.stack([xp.stack([cosine, -sine]), xp.stack([sine, cosine])]) * xp.exp(0.5j * angle)
    if len(wires) == 2:
        turn = xp.kron(turn, turn) * np.array([1, 1, 1, -1])
    qml.QubitUnitary(turn, wires=[style.wires[wire] for wire in wires])


def _diagonal(numbers, zero, style, taken, place, wires):
    if set(wires) & set(taken):
        return
    xp = np if isinstance(numbers, np.ndarray) else jnp
    phases = xp.exp(1j * numbers[place] * np.cos(np.arange(2.0 ** len(wires))))
    qml.DiagonalQubitUnitary(phases, wires=[style.wires[wire] for wire in wires])


def _channel(numbers, zero, style, taken, name, places, wire):
    xp = np if isinstance(numbers, np.ndarray) else jnp
    strengths = [0.2 * (1 + xp.sin(3 * numbers[place])) for place in places]
    getattr(qml, name)(*strengths, wires=style.wires[wire])


def _adjoint(numbers, zero, style, taken, body):
    qml.adjoint(lambda: apply(body, numbers, zero, style, taken))()


def _controlled(numbers, zero, style, taken, wire, body, value=True):
    taken = (*taken, wire)
    if len(taken) == len(set(taken)) and any(reaches(body, taken)):
        inner = lambda: apply(body, numbers, zero, style, taken)  # noqa: E731
        qml.ctrl(inner, control=style.wires[wire], control_values=[value])()


def reaches(gates: list, taken: tuple):
    """For each gate that is applied beside controls: True, so `any` says whether there is one."""
    for kind, *parts in gates:
        if kind == "spread":
            yield True
        elif kind == "gate":
            yield not set(parts[2]) & set(taken)
        elif kind in ("matrix", "diagonal"):
            yield not set(parts[1]) & set(taken)
        elif kind == "adjoint":
            yield from reaches(parts[0], taken)
        elif kind == "repeat":
            yield from reaches(parts[2], taken)
        elif kind == "controlled":
            yield parts[0] not in taken and any(reaches(parts[1], (*taken, parts[0])))
        elif kind == "choose":
            yield from reaches([*parts[1], *parts[2]], taken)


def _repeat(numbers, zero, style, taken, trips, is_traced, body, is_carried=True):
    """Each time with other numbers, or with the same ones, which stand outside of the loop."""

    def turn(i, carried):
        apply(body, carried if is_carried else numbers, zero, style, taken)
        return carried * 0.7 + 0.1 * i

    carried = numbers
    if style.loops == "python":
        for i in range(trips):
            carried = turn(i, carried)
    elif style.loops == "ours":
        diastase.for_loop(0, trips + zero if is_traced else trips, 1)(turn)(carried)
    else:
        lax.fori_loop(0, trips + zero if is_traced else trips, turn, carried)


def _choose(numbers, zero, style, taken, place, first, second):
    branches = [
        lambda body=body: apply(body, numbers, zero, style, taken) for body in (first, second)
    ]
    if style.loops == "python":
        return branches[0 if numbers[place] > 0.1 else 1]()
    conditional = diastase.cond(numbers[place] > 0.1)(branches[0])
    conditional.otherwise(branches[1])
    return conditional()


def measure(numbers, zero, style, taken, wire, reset, body, postselect=None):
    outcome = qml.measure(style.wires[wire], reset=reset, postselect=postselect)
    for gate in body:
        qml.cond(outcome, lambda gate=gate: apply([gate], numbers, zero, style, taken))()
    return outcome


_GATES = {
    "spread": _spread,
    "gate": _gate,
    "matrix": _matrix,
    "diagonal": _diagonal,
    "channel": _channel,
    "adjoint": _adjoint,
    "controlled": _controlled,
    "repeat": _repeat,
    "choose": _choose,
    "measure": measure,
}
_LEAVES = ("gate", "matrix", "diagonal")
"""Gates that have none inside."""

assert (GATES.keys() | CHANNELS.keys()).isdisjoint(_GATES)
