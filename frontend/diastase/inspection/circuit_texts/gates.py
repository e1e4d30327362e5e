"""Gates of the gate table by those of OpenQASM's `stdgates.inc`, global phases included.

A gate is steps, applied in order. A step names a gate, its parameters as multiples of those of the
gate (`(factor, which)`, or a number), its controls, and the wires, by their position. Phases count:
a gate that is controlled is the controlled steps.

The trap: `u2` and `u3` of `stdgates.inc` differ from PennyLane's by a phase, and readers differ
about the sign of `gphase`; no step uses them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from diastase_runtime.gate_table import into_z, word_of

Angle = float | tuple[float, int]
"""A number, or a multiple of a parameter: its factor and its position."""

ON, OFF = True, False


@dataclass(frozen=True)
class Step:
    """A gate of `stdgates.inc` on wires, of which the leading ones control it."""

    name: str
    wires: tuple[int, ...]
    angles: tuple[Angle, ...] = ()
    controls: tuple[bool, ...] = ()


def _on(
    name: str, *wires: int, angles: Sequence[Angle] = (), controls: Sequence[bool] = ()
) -> Step:
    return Step(name, wires, tuple(angles), tuple(controls))


def _controlled(name: str, *angles: Angle) -> tuple[Step, ...]:
    return (_on(name, 0, 1, angles=angles, controls=[ON]),)


def _in_odd_part(*steps: Step) -> tuple[Step, ...]:
    """What is done where two bits differ: there the first one is 1, and the second as it was."""
    return (_CHANGED, *steps, _CHANGED)


def _euler(first: Angle, middle: Angle, last: Angle, about: str) -> tuple[Step, ...]:
    angles = ((about, first), ("ry", middle), (about, last))
    return tuple(_on(name, 0, angles=[angle]) for name, angle in angles)


def _phase(factor: float, wire: int) -> tuple[Step, ...]:
    """exp(i factor p) everywhere, for the parameter p: a global phase that may be controlled."""
    shift, flip = _on("p", wire, angles=[(factor, 0)]), _on("x", wire)
    return (shift, flip, shift, flip)


def _excited(wires: Sequence[int], angle: Angle) -> tuple[Step, ...]:
    """A rotation between |01> and |10>."""
    first, second = wires
    changed = _on("x", second, first, controls=[ON])
    return (changed, _on("ry", first, second, angles=[angle], controls=[ON]), changed)


_CHANGED = _on("x", 1, 0, controls=[ON])
_P = (1.0, 0)
_FERMIONIC_SWAP = (
    *_in_odd_part(
        _on("rx", 0, 1, angles=[_P], controls=[ON]), _on("p", 0, angles=[(0.5, 0)])
    ),
    _on("p", 0, 1, angles=[_P], controls=[ON]),
)  # fmt: skip


def _odd_rotation(angle: Angle) -> tuple[Step, ...]:
    return _in_odd_part(_on("rx", 0, 1, angles=[angle], controls=[ON]))


def _even_phase(factor: float) -> tuple[Step, ...]:
    flip = _on("x", 0)
    return _in_odd_part(flip, _on("p", 0, angles=[(factor, 0)]), flip)


def _double(*steps: Step) -> tuple[Step, ...]:
    """Steps on the last wire where the state was |0011> (then 1) or |1100> (then 0).

    The first wire is changed by the second, the third by the fourth, the second by the fourth:
    these two states, and no others, have 0, 1, 0 on the first three then.
    """
    forth = (
        _on("x", 1, 0, controls=[ON]), _on("x", 3, 2, controls=[ON]), _on("x", 3, 1, controls=[ON])
    )  # fmt: skip
    return (*forth, *steps, *reversed(forth))


_DOUBLE_ROTATION = _on("ry", 0, 1, 2, 3, angles=[(-1.0, 0)], controls=[OFF, ON, OFF])


def _double_with_phase(factor: float) -> tuple[Step, ...]:
    back = _on("p", 0, 2, 1, angles=[(-factor, 0)], controls=[OFF, OFF])
    return (*_double(_DOUBLE_ROTATION, back), *_phase(factor, 0))


def _between(steps: Sequence[Step], *places: int) -> tuple[Step, ...]:
    """The same steps on other wires."""
    return tuple(
        Step(s.name, tuple(places[wire] for wire in s.wires), s.angles, s.controls) for s in steps
    )


def _with(steps: Sequence[Step], parameter: float) -> tuple[Step, ...]:
    """The same steps for a known parameter."""
    return tuple(
        Step(
            s.name, s.wires,
            tuple(a[0] * parameter if isinstance(a, tuple) else a for a in s.angles), s.controls,
        )
        for s in steps
    )  # fmt: skip


_EXCHANGED = _between(_with(_FERMIONIC_SWAP, pi), 1, 2)
_EXCITED = _excited((0, 1), (-1.0, 0))

STEPS: dict[str, tuple[Step, ...]] = {
    "Identity": (_on("id", 0),),
    **{
        name: (_on(gate, 0),)
        for name, gate in (
            ("Hadamard", "h"), ("PauliX", "x"), ("PauliY", "y"), ("PauliZ", "z"), ("S", "s"),
            ("Adjoint(S)", "sdg"), ("T", "t"), ("Adjoint(T)", "tdg"), ("SX", "sx"),
            ("Adjoint(SX)", "inv @ sx"),
        )
    },
    **{
        name: (_on(gate, 0, angles=[_P]),)
        for name, gate in (
            ("RX", "rx"), ("RY", "ry"), ("RZ", "rz"), ("PhaseShift", "p"), ("U1", "p"),
        )
    },
    "U2": _euler((1.0, 1), pi / 2, (1.0, 0), "p"),
    "U3": _euler((1.0, 2), (1.0, 0), (1.0, 1), "p"),
    "Rot": _euler((1.0, 0), (1.0, 1), (1.0, 2), "rz"),
    "CNOT": _controlled("x"), "CY": _controlled("y"), "CZ": _controlled("z"),
    "CH": _controlled("h"), "CRX": _controlled("rx", _P), "CRY": _controlled("ry", _P),
    "CRZ": _controlled("rz", _P), "ControlledPhaseShift": _controlled("p", _P),
    "CRot": (
        *_controlled("rz", (1.0, 0)), *_controlled("ry", (1.0, 1)), *_controlled("rz", (1.0, 2)),
    ),
    "CPhaseShift00": (
        _on("x", 1), _on("p", 0, 1, angles=[_P], controls=[OFF]), _on("x", 1),
    ),
    "CPhaseShift01": (_on("p", 0, 1, angles=[_P], controls=[OFF]),),
    "CPhaseShift10": (_on("p", 1, 0, angles=[_P], controls=[OFF]),),
    "IsingXY": _odd_rotation((-1.0, 0)),
    "SISWAP": _odd_rotation(-pi / 2), "Adjoint(SISWAP)": _odd_rotation(pi / 2),
    "ISWAP": _odd_rotation(-pi), "Adjoint(ISWAP)": _odd_rotation(pi),
    "SingleExcitation": _EXCITED,
    "SingleExcitationPlus": (*_EXCITED, *_even_phase(0.5)),
    "SingleExcitationMinus": (*_EXCITED, *_even_phase(-0.5)),
    "FermionicSWAP": _FERMIONIC_SWAP,
    "ECR": (
        _on("rx", 0, 1, angles=[pi / 2], controls=[OFF]),
        _on("rx", 0, 1, angles=[-pi / 2], controls=[ON]),
        _on("x", 0),
    ),
    "SWAP": (_on("swap", 0, 1),),
    "PSWAP": (*_in_odd_part(_on("p", 0, angles=[_P])), _on("swap", 0, 1)),
    "DoubleExcitation": _double(_DOUBLE_ROTATION),
    "DoubleExcitationPlus": _double_with_phase(0.5),
    "DoubleExcitationMinus": _double_with_phase(-0.5),
    "OrbitalRotation": (
        *_EXCHANGED, *_excited((0, 1), (-1.0, 0)), *_excited((2, 3), (-1.0, 0)), *_EXCHANGED,
    ),
}  # fmt: skip

_ISING = {"IsingZZ": "ZZ", "IsingXX": "XX", "IsingYY": "YY"}
_BASIS = {"Hadamard": "h", "S": "s", "Adjoint(S)": "sdg"}


def steps_of(name: str, wires: int) -> tuple[Step, ...]:
    """The steps of a gate of the gate table on so many wires."""
    found = STEPS.get(name)
    if found is not None:
        return found
    word = word_of(name) or _ISING.get(name) or "Z" * wires
    forth, back = (_basis_steps(gates) for gates in into_z(word, range(len(word))))
    return (*forth, _on("rz", len(word) - 1, angles=[_P]), *back)


def _basis_steps(gates: Sequence[tuple[str, tuple[int, ...]]]) -> list[Step]:
    return [
        _on("x", *wires, controls=[ON]) if name == "CNOT" else _on(_BASIS[name], *wires)
        for name, wires in gates
    ]


MOST_DIAGONAL_WIRES = 4


def diagonal_steps(elements: np.ndarray) -> list[Step]:
    """The steps of a diagonal gate: a controlled phase for each basis state that has one."""
    wires = len(elements).bit_length() - 1
    steps = list[Step]()
    for state, angle in enumerate(np.angle(elements)):
        if angle:
            bits = [bool(state >> (wires - 1 - wire) & 1) for wire in range(wires)]
            shift = _on("p", *range(wires), angles=[float(angle)], controls=bits[:-1])
            flips = [] if bits[-1] else [_on("x", wires - 1)]
            steps += [*flips, shift, *flips]
    return steps


def unitary_steps(matrix: np.ndarray) -> list[Step]:
    """The steps of a gate on one wire: exp(i a) P(b) RY(c) P(d)."""
    middle = 2 * float(np.arctan2(abs(matrix[1, 0]), abs(matrix[0, 0])))
    if abs(matrix[0, 0]) > abs(matrix[1, 0]):
        phase = np.angle(matrix[0, 0])
        total = np.angle(matrix[1, 1]) - phase
        left = np.angle(matrix[1, 0]) - phase if abs(matrix[1, 0]) else 0.0
        right = total - left
    else:
        # The two on the other diagonal say b + a, and d + a up to the sign of -sin.
        low, high = np.angle(matrix[1, 0]), np.angle(-matrix[0, 1])
        phase = np.angle(matrix[0, 0]) if abs(matrix[0, 0]) else low
        left, right = low - phase, high - phase
    steps = [
        _on("p", 0, angles=[float(right)]), _on("ry", 0, angles=[middle]),
        _on("p", 0, angles=[float(left)]),
    ]  # fmt: skip
    shift, flip = _on("p", 0, angles=[float(phase)]), _on("x", 0)
    return [*steps, *((shift, flip, shift, flip) if phase else ())]
