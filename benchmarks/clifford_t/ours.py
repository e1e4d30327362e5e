"""What diastase's passes on Pauli products leave of a circuit."""

from dataclasses import dataclass
from math import pi

import pennylane as qml
from verify import difference

from diastase import qjit

PASSES = ("to_ppr", "commute_ppr", "reduce_t_depth")
_MOST_WIRES = 16
"""Of a circuit that is compared with what is left of it."""

Rotation = tuple[str, tuple[int, ...], float]


@dataclass
class Left:
    """Rotations in the order of time; the state is multiplied by exp(-i phase) besides."""

    rotations: list[Rotation]
    phase: float

    @property
    def t_gates(self) -> list[Rotation]:
        """Those by odd multiples of pi/4."""
        return [one for one in self.rotations if round(one[2] / (pi / 4)) % 2]

    @property
    def layers(self) -> int:
        """The Pauli-product depth: T gates come right after all that they do not commute with."""
        depths: list[int] = []
        words = [dict(zip(wires, word, strict=True)) for word, wires, _ in self.t_gates]
        for place, word in enumerate(words):
            before = zip(words[:place], depths, strict=True)
            waits = [depth for one, depth in before if _anticommute(one, word)]
            depths.append(1 + max(waits, default=0))
        return max(depths, default=0)


def left_by(passes, circuit):
    """What passes leave; it is compared with the circuit, if that is not too wide."""

    def function():
        for name, wires in circuit.gates:
            base = getattr(qml, name.removeprefix("Adjoint(").removesuffix(")"))
            (qml.adjoint(base) if name.startswith("Adjoint") else base)(wires=wires)
        return qml.expval(qml.Z(0))

    qnode = qml.QNode(function, qml.device("default.qubit", wires=circuit.wires))
    compiled = qjit(qnode, circuit_transform_pipeline={name: {} for name in passes})
    left = _read(compiled.jaxpr)
    if circuit.wires <= _MOST_WIRES:
        wrong = difference(circuit, left.rotations, left.phase)
        assert wrong < 1e-10, f"what {passes} leave differs by {wrong}"
    return left


def _read(closed):
    """The rotations of the only circuit of a program."""
    left = Left([], 0.0)
    (qnode,) = (one for one in closed.jaxpr.eqns if one.primitive.name == "qnode")
    for equation in qnode.params["jaxpr"].jaxpr.eqns:
        if equation.primitive.name == "gate":
            word = equation.params["name"].removeprefix("PauliRot[").removesuffix("]")
            wires = equation.params["wires"]
            left.rotations.append((word, wires, float(equation.invars[1].val)))
        elif equation.primitive.name == "global_phase":
            left.phase += float(equation.invars[1].val)
    return left


def _anticommute(one, other):
    """Words by wire."""
    return sum(letter != other.get(wire, letter) for wire, letter in one.items()) % 2 == 1
