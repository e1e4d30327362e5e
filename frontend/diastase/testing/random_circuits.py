"""Circuits that hypothesis draws, made so that passes have something to do.

Few wires and few angles, gates next to their inverses, rotations of one kind, wires that are known
only when the program runs and may be equal, controls, loops whose bodies begin and end with gates
that may meet, `while` loops, branches, and, where they are asked for, measurements that decide
about gates. A circuit is data, a nested tuple that prints as such; `Program.run` applies it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pennylane as qml

from diastase.api.control_flow import cond, for_loop, while_loop
from diastase.api.quantum import measure
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    from hypothesis import strategies as st
else:  # those who test passes have it
    st = LazyModule("hypothesis.strategies")

PLAIN: dict[int, list[str]] = {
    1: ["Hadamard", "PauliX", "PauliY", "PauliZ", "S", "T", "SX"],
    2: ["CNOT", "CY", "CZ", "CH", "SWAP", "ISWAP", "SISWAP", "ECR"],
    3: ["Toffoli", "CSWAP"],
}
ROTATIONS: dict[int, list[str]] = {
    1: ["RX", "RY", "RZ", "PhaseShift", "Rot"],
    2: ["CRX", "CRZ", "CRot", "ControlledPhaseShift", "CPhaseShift10", "IsingXX", "IsingZZ",
        "IsingXY", "PSWAP", "SingleExcitation", "MultiRZ"],
}  # fmt: skip
WORDS = ["X", "Z", "YZ", "XX", "ZXY"]
ANGLES = ["x", "-x", "2x", "0.5", "-0.5", "t", "-t", "s"]
"""Known and traced; `t` is a T gate's pi/4, `s` an S gate's pi/2."""

Block = tuple[Any, ...]


def programs(
    wires: int = 3,
    *,
    measuring: bool = False,
    without: Collection[str] = (),
    size: int = 12,
) -> Any:
    """A hypothesis strategy of circuits, as lists of blocks.

    Args:
        wires: how many, 3 or more.
        measuring: whether measurements are drawn, which decide about gates.
        without: names of gates, or of kinds of blocks (`matrix`, `loop`, `while`, `around`,
            `branch`, `controlled`, `anywhere`, …), that are not drawn.
        size: how many blocks there are at most.

    Returns:
        A strategy; what it draws is nested tuples, which `Program.run` applies.

    Raises:
        ValueError: for fewer than 3 wires.

    Example:
        >>> from hypothesis import given, settings
        >>> from diastase.testing import programs
        >>> @settings(max_examples=1, deadline=None)
        ... @given(programs())
        ... def test_of_kinds(blocks):
        ...     print(len(blocks), all(isinstance(kind, str) for kind, *_ in blocks))
        >>> test_of_kinds()
        1 True

    """
    if wires < 3:
        raise ValueError(f"circuits are drawn on 3 wires or more, not on {wires}")
    numbers: Any = st.integers(0, wires - 1)
    orders: Any = st.permutations(range(wires))
    angles = st.tuples(*[st.sampled_from(ANGLES)] * 3)

    def some(names: Sequence[str]) -> list[str]:
        return [name for name in names if name not in without]

    def on(count: int) -> Any:
        return orders.map(lambda order: tuple(order[:count]))

    kinds: list[Any] = []
    for count in (1, 2, 3):
        if plain := some(PLAIN[count]):
            kinds.append(st.tuples(st.sampled_from(plain), st.none(), on(count)))
        if rotations := some(ROTATIONS.get(count, [])):
            kinds.append(st.tuples(st.sampled_from(rotations), angles, on(count)))
        words = [word for word in WORDS if len(word) == count]
        if "PauliRot" not in without:
            kinds.append(
                st.tuples(st.sampled_from([f"PauliRot {w}" for w in words]), angles, on(count))
            )
    gates = st.one_of(kinds)
    one_wire = st.one_of(
        st.tuples(st.sampled_from(some(PLAIN[1])), st.none()),
        st.tuples(st.sampled_from(some(ROTATIONS[1])), angles),
    )
    leaves = {
        "gate": st.tuples(st.just("gate"), gates, st.just("plain")),
        "again": st.tuples(
            st.just("gate"), gates, st.sampled_from(["adjoint", "twice", "undone", "traced"])
        ),
        "controlled": st.tuples(
            st.just("controlled"), one_wire, st.tuples(orders, st.booleans(), st.booleans())
        ),
        "anywhere": st.tuples(
            st.just("anywhere"), one_wire, st.sampled_from(["v", "w", "undone", "both"])
        ),
        "pair": st.tuples(st.just("pair"), st.sampled_from(["CNOT", "CZ", "SWAP", "CRX"]), numbers),
        "phase": st.tuples(st.just("phase"), st.sampled_from(ANGLES), st.none()),
        "matrix": st.tuples(st.just("matrix"), numbers, st.booleans()),
        "measure": st.tuples(
            st.just("measure"), numbers, st.sampled_from(["", "reset", "feed", "word"])
        ),
    }
    if not measuring:
        del leaves["measure"]
    around = st.tuples(st.sampled_from(["loop", "while"]), numbers)

    def blocks(inner: Any) -> Any:
        some_inside = st.lists(inner, max_size=4)
        nested = {
            "loop": st.tuples(st.just("loop"), st.integers(0, 3), some_inside),
            "around": st.tuples(st.just("around"), gates, st.tuples(around, some_inside)),
            "while": st.tuples(st.just("while"), st.integers(0, 2), some_inside),
            "branch": st.tuples(
                st.just("branch"), st.booleans(), st.tuples(some_inside, some_inside)
            ),
        }
        return st.one_of([kind for name, kind in nested.items() if name not in without])

    drawn = st.one_of([leaf for name, leaf in leaves.items() if name not in without])
    return st.lists(st.recursive(drawn, blocks, max_leaves=14), min_size=1, max_size=size)


@dataclass(frozen=True)
class Program:
    """A circuit being applied, in a quantum function.

    Args:
        x: the angle at hand, in radians, traced or not.
        v: a wire, traced or not.
        w: another one, which may be the same.
        wires: how many there are.

    Example:
        >>> import pennylane as qml
        >>> from diastase import qjit
        >>> from diastase.testing import Program
        >>> @qjit
        ... @qml.qnode(qml.device("lightning.qubit", wires=3))
        ... def circuit(x):
        ...     Program(x, 0, 1).run([("gate", ("PauliX", None, (0,)), "plain")])
        ...     return qml.expval(qml.Z(0))
        >>> float(circuit(0.3))
        -1.0

    """

    x: Any
    v: Any
    w: Any
    wires: int = 3

    def run(self, blocks: Sequence[Block]) -> None:
        """Apply all blocks.

        Args:
            blocks: what `programs` draws.

        """
        for kind, first, second in blocks:
            getattr(self, f"_{kind}")(first, second)

    def _angle(self, name: str) -> Any:
        known = {
            "x": self.x, "-x": -self.x, "2x": 2 * self.x,
            "t": 0.7853981633974483, "-t": -0.7853981633974483, "s": 1.5707963267948966,
        }  # fmt: skip
        return known[name] if name in known else float(name)

    def _operator(self, name: str, angles: Sequence[str] | None, wires: Sequence[Any]) -> Any:
        count = 3 if name.endswith("Rot") else 1
        values = [self._angle(angle) for angle in (angles or ())[:count]]
        name, _, word = name.partition(" ")
        make: Any = getattr(qml, name)
        words = [word] if word else []
        values = values[:1] if word else values
        return make(*values, *words, wires=wires)

    def _gate(self, gate: Any, how: str) -> None:
        name, angles, wires = gate
        if how == "traced":
            wires = [wire + 0 * self.v for wire in wires]
        if how == "adjoint":
            _undo(self._operator(name, angles, wires))
            return
        self._operator(name, angles, list(wires))
        if how == "twice":
            self._operator(name, angles, list(wires))
        elif how == "undone":
            _undo(self._operator(name, angles, list(wires)))

    def _controlled(self, gate: Any, how: Any) -> None:
        order, *values = how
        name, angles = gate
        operator = self._operator(name, angles, [order[0]])
        qml.ctrl(operator, list(order[1:3]), control_values=values)

    def _anywhere(self, gate: Any, where: str) -> None:
        name, angles = gate
        self._operator(name, angles, [self.w if where == "w" else self.v])
        if where == "both":
            self._operator(name, angles, [self.w])
        if where in ("both", "undone"):
            _undo(self._operator(name, angles, [self.v]))

    def _pair(self, name: str, offset: int) -> None:
        wires = [self.v, (self.v + 1 + offset % 2) % self.wires]
        rotates = name in ROTATIONS[2]
        self._operator(name, ("x",) if rotates else (), wires)
        if offset:
            self._operator(name, ("-x",) if rotates else (), wires)

    def _phase(self, angle: str, _: None) -> None:
        qml.GlobalPhase(self._angle(angle))

    def _matrix(self, wire: int, adjoint: bool) -> None:
        matrix: Any = qml.matrix(qml.Rot(0.3, 0.2, 0.9, 0))
        qml.QubitUnitary(matrix.conj().T if adjoint else matrix, wire)

    def _measure(self, wire: int, how: str) -> None:
        other = (wire + 1) % self.wires
        if how == "word":
            qml.pauli_measure("XZ", wires=[wire, other])
            return
        outcome = measure(wire, reset=how == "reset")
        if how == "feed":
            chosen: Any = cond(outcome)(lambda: [qml.X(other), None][1])
            chosen()

    def _loop(self, count: int, inner: Sequence[Block]) -> None:
        def body(i: Any, x: Any) -> Any:
            Program(x, (self.v + i) % self.wires, self.w, self.wires).run(inner)
            return x * 0.5

        for_loop(0, count, 1)(body)(self.x)

    def _while(self, count: int, inner: Sequence[Block]) -> None:
        def body(n: Any) -> Any:
            self.run(inner)
            return n + 1

        while_loop(lambda n: n < count)(body)(0)

    def _around(self, gate: Any, loop: Any) -> None:
        """A loop whose body begins and ends with gates that may meet."""
        (kind, count), inner = loop
        name, angles, wires = gate
        last = (name, angles, wires[::-1] if count == 1 and " " not in name else wires)
        inside = [("gate", gate, "plain"), *inner, ("gate", last, "adjoint")]
        if angles and count == 2:
            inside[-1] = ("gate", last, "plain")
        self.run([(kind, count, inside)])

    def _branch(self, positive: bool, sides: Any) -> None:
        chosen: Any = cond((self.x > 0) == positive)(lambda: self.run(sides[0]))
        chosen.otherwise(lambda: self.run(sides[1]))
        chosen()


def _undo(operator: Any) -> None:
    qml.adjoint(operator)
