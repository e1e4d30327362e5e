"""Whether a pass keeps what circuits do, as far as it claims to, on circuits that are drawn.

What is compared, with the pass and without it:

    unitary         the state of the wires and of as many others that they were entangled with
                    before: it has the whole matrix of the circuit in it, global phase included
    outcomes        the same of circuits that measure, run with equal seeds: each measurement finds
                    what it finds without the pass
    averages        the density matrix of all these wires, the average over all outcomes of circuits
                    that measure: it has the whole channel in it
    state           the state up to its global phase, whatever the pass measures itself

Of each circuit that comes out: it has no gate from a line that is not one of the circuit's.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import jax
import numpy as np
import pennylane as qml

from diastase.api.quantum import measure
from diastase.jit.qjit import qjit
from diastase.passes import pipeline
from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import touches_register
from diastase.quantum.qnode.circuits import watching_circuits
from diastase.testing.random_circuits import Block, Program, programs
from diastase_mlir import span_of, word_of
from diastase_mlir.jax_compat import equations_in
from diastase_toolchain.lazy_import import LazyModule

if TYPE_CHECKING:
    import hypothesis
    from hypothesis import strategies as st
else:  # those who test passes have it
    hypothesis = LazyModule("hypothesis")
    st = LazyModule("hypothesis.strategies")

Same = Literal["unitary", "outcomes", "averages", "state"]
_MEASURING = ("outcomes", "averages")
Passes = str | Mapping[str, Mapping[str, Any]]
Cost = Callable[[Sequence[Any]], float]
"""From the equations of a circuit, those inside of loops and branches once each."""

_TOLERANCE = 1e-9


class PassFailure(AssertionError):
    """A pass does not do what was claimed of it; the message has the circuit and what differs.

    Example:
        >>> from diastase import passes
        >>> from diastase.testing import PassCheck
        >>> @passes.register_pass("drop_all")
        ... def drop_all(circuit):
        ...     for gate in circuit.gates():
        ...         circuit.erase(gate)
        >>> PassCheck("drop_all")([("gate", ("PauliX", None, (0,)), "plain")], x=0.3)
        Traceback (most recent call last):
        ...
        diastase.testing.pass_checks.PassFailure: drop_all: ...

    """


def gates(equations: Sequence[Any]) -> float:
    """How many gates there are: a cost.

    Args:
        equations: those of a circuit, in loops and branches once each.

    Returns:
        A number, with which `never_more` compares.

    Example:
        >>> from diastase.testing import PassCheck, gates
        >>> check = PassCheck("merge_rotations", never_more=gates)
        >>> check([("gate", ("RX", ("x", "x", "x"), (0,)), "twice")], x=0.3)

    """
    return sum(has_role(equation, Role.GATE) for equation in equations)


def check_pass(
    passes: Passes,
    *,
    same: Same = "unitary",
    idempotent: bool = False,
    never_more: Cost | None = None,
    without: Collection[str] = (),
    wires: int = 3,
    examples: int = 25,
) -> None:
    """Draw circuits with control flow, and compare them with and without passes.

    hypothesis draws them (`pip install hypothesis`), and makes one that fails small.

    Args:
        passes: the name of one, or a dictionary from names to their options.
        same: what they keep: "unitary", the whole matrix, global phase included; "outcomes", the
            same of circuits that measure, with equal seeds; "averages", the density matrix averaged
            over all outcomes; "state", the state up to its global phase. What differs by 1e-9 is
            not the same.
        idempotent: they leave what they have left, a second time.
        never_more: a cost that does not rise, `gates`, say.
        without: what they cannot take, names of gates and kinds of blocks (`programs`).
        wires: at least 3.
        examples: how many circuits are drawn.

    Raises:
        PassFailure: an `AssertionError`, with the smallest circuit that was found.
        ValueError: for another `same`, and for fewer wires.

    Example:
        >>> from diastase.testing import check_pass, gates
        >>> check_pass("cancel_inverses", never_more=gates, examples=1)

    """
    check = PassCheck(passes, same, idempotent, never_more, wires)
    numbers = st.integers(0, wires - 1)
    drawn = programs(wires, measuring=same in _MEASURING, without=without)

    unhurried: Any = list(hypothesis.HealthCheck)

    @hypothesis.settings(max_examples=examples, deadline=None, suppress_health_check=unhurried)
    @hypothesis.given(drawn, st.floats(-3, 3), numbers, numbers, st.integers(0, 100))
    def compare(blocks: Sequence[Block], x: float, v: int, w: int, seed: int) -> None:
        check(blocks, x, v, w, seed)

    compare()


@dataclass(frozen=True)
class PassCheck:
    """What is claimed of passes; called with a circuit, it compares.

    The arguments of a call are blocks (`programs`), the angle `x` in radians, the wires `v` and
    `w`, and the seed of outcomes. `PassFailure` if the circuit is not what was claimed.

    Raises:
        ValueError: for another `same`.

    Example:
        >>> from diastase.testing import PassCheck
        >>> check = PassCheck("cancel_inverses")
        >>> check([("gate", ("Hadamard", None, (0,)), "twice")], x=0.3)

    """

    passes: Passes
    same: Same = "unitary"
    idempotent: bool = False
    never_more: Cost | None = None
    wires: int = 3
    _pipeline: dict[str, dict[str, Any]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.same not in get_args(Same):
            raise ValueError(f"same is one of {get_args(Same)}, not {self.same!r}")
        given = {self.passes: {}} if isinstance(self.passes, str) else self.passes
        named = {name: dict(options) for name, options in given.items()}
        object.__setattr__(self, "_pipeline", named)

    def __call__(
        self, blocks: Sequence[Block], x: float, v: int = 0, w: int = 1, seed: int = 0
    ) -> None:
        """Compare one circuit with and without the passes."""
        plain, passed = (self._compiled(blocks, seed, times) for times in (0, 1))
        arguments = (x, v, w)
        self._compare(blocks, plain, passed, arguments)
        before, after = (_equations(compiled, arguments) for compiled in (plain, passed))
        strange = _lines(after) - _lines(before)
        if strange:
            raise self._failure(blocks, f"gates come from lines of no gate: {sorted(strange)}")
        if self.never_more is not None:
            costs = self.never_more(before), self.never_more(after)
            if costs[1] > costs[0]:
                raise self._failure(blocks, f"the cost rises from {costs[0]} to {costs[1]}")
        if self.idempotent:
            again = _equations(self._compiled(blocks, seed, 2), arguments)
            if _named(again) != _named(after):
                raise self._failure(blocks, "a second time it changes what it has left")

    def _compiled(self, blocks: Sequence[Block], seed: int, times: int) -> Any:
        """The circuit with the passes, so many times."""

        def circuit(x: Any, v: Any, w: Any) -> Any:
            for wire in range(self.wires):
                qml.Hadamard(self.wires + wire)
                qml.CNOT([self.wires + wire, wire])
            Program(x, v, w, self.wires).run(blocks)
            if self.same == "averages":
                return qml.density_matrix(wires=range(2 * self.wires))
            return (qml.state(), measure(0)) if self.same == "outcomes" else qml.state()

        device = qml.device("lightning.qubit", wires=2 * self.wires)
        method: Any = "tree-traversal" if self.same == "averages" else None
        qnode: Any = qml.QNode(circuit, device, mcm_method=method)
        for _ in range(times):
            qnode = pipeline(self._pipeline)(qnode)
        return qjit(qnode, seed=seed if self.same == "outcomes" else None)

    def _compare(
        self, blocks: Sequence[Block], plain: Any, passed: Any, arguments: tuple[Any, ...]
    ) -> None:
        wanted = plain(*arguments)
        for _ in range(3 if self.same == "state" else 1):  # with other outcomes each time
            self._compare_results(blocks, wanted, passed(*arguments))

    def _compare_results(self, blocks: Sequence[Block], wanted: Any, found: Any) -> None:
        if self.same == "state":
            overlap = np.vdot(found, wanted)
            found = np.asarray(found) * (overlap / np.abs(overlap) if overlap else 1.0)
        for one, other in zip(jax.tree.leaves(wanted), jax.tree.leaves(found), strict=True):
            difference = float(np.max(np.abs(np.subtract(one, other, dtype=complex))))
            if not difference < _TOLERANCE:
                raise self._failure(blocks, f"results differ by {difference:.3g}")

    def _failure(self, blocks: Sequence[Block], reason: str) -> PassFailure:
        return PassFailure(f"{self.passes}: {reason}, in the circuit {list(blocks)}")


def _equations(compiled: Any, arguments: tuple[Any, ...]) -> list[Any]:
    """The equations of the circuit that are about its register."""
    with watching_circuits() as seen:
        compiled.like(compiled.original_function).trace(*arguments)
    return [one for each in seen for one in equations_in(each.traced.jaxpr, touches_register)]


def _lines(equations: Sequence[Any]) -> set[str]:
    made = (one for one in equations if has_role(one, Role.GATE, Role.OUTCOME))
    return {str(span_of(equation.source_info)) for equation in made}


def _named(equations: Sequence[Any]) -> Counter[Any]:
    """Gates and what else there is, without what they are computed of."""
    return Counter(map(_named_one, equations))


def _named_one(equation: Any) -> tuple[Any, ...]:
    """A word is the same in any order of its letters."""
    params = equation.params
    name, wires = params.get("name"), params.get("wires")
    word: Any = word_of(name) if name and not params["control_values"] else params.get("word")
    known = word is not None and None not in (wires or ())
    letters: Any = frozenset(zip(wires or (), word or (), strict=True)) if known else (name, wires)
    return equation.primitive.name, letters
