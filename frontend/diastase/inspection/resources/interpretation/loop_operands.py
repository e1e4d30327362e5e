"""A loop that is looked at: its body, and what is known of its operands, told apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jax.extend.core import ClosedJaxpr

from diastase.inspection.resources.interpretation.exact import Number, expanded
from diastase.inspection.resources.interpretation.values import VARYING, Value
from diastase.primitives.quantum import is_register_aval


@dataclass(frozen=True)
class Loop:
    """A `for_loop`, or a `while_loop`, which has no bounds."""

    equation: Any
    body: ClosedJaxpr
    constants: Sequence[Value]
    bounds: tuple[Value, ...]
    carry: Sequence[Value]
    condition: ClosedJaxpr | None = None
    tested: Sequence[Value] = ()
    """Operands of the condition before what is carried."""

    @classmethod
    def read(cls, equation: Any, operands: Sequence[Value]) -> "Loop":
        """The loop of an equation."""
        params = equation.params
        own, condition = params["body_nconsts"], params.get("cond_jaxpr")
        tested, bounds = params.get("cond_nconsts", 0), 0 if condition is not None else 3
        given = operands[tested:]
        return cls(
            equation, params["body_jaxpr"], given[:own], tuple(given[own : own + bounds]),
            given[own + bounds :], condition, operands[:tested],
        )  # fmt: skip

    def index(self, turn: Number, trips: Number) -> Value:
        """The index in a turn, which is numbered from 0 on."""
        lower, _, step = (bound.number for bound in self.bounds)
        if self.equation.params["apply_reverse_transform"]:
            turn = trips - 1 - turn
        return Value(expanded(lower + step * turn))

    def turn_operands(self, index: Value, carry: Sequence[Value]) -> list[Value]:
        """The operands of the body."""
        return [*self.constants, *([index] if self.bounds else []), *carry]

    @property
    def _kept(self) -> list[bool]:
        """Which carried values each turn hands on as they are."""
        outputs = self.body.jaxpr.outvars
        given = self.body.jaxpr.invars[len(self.body.jaxpr.invars) - len(outputs) :]
        return [one is other for one, other in zip(given, outputs, strict=True)]

    @property
    def counted(self) -> list[bool]:
        """Which carried values are integers that change, from a known one on."""
        avals = [variable.aval for variable in self.body.jaxpr.outvars]
        return [
            not kept and one.number is not None and one.number is not VARYING
            and not is_register_aval(aval) and aval.dtype.kind in "iu"
            for kept, one, aval in zip(self._kept, self.carry, avals, strict=True)
        ]  # fmt: skip

    def varied(self, number: Number) -> list[Value]:
        """What is carried into any turn; `number` for what may be another one in each."""
        return [
            one if kept else Value(number, one.outcomes)
            for one, kept in zip(self.carry, self._kept, strict=True)
        ]

    def left(self, results: Sequence[Value]) -> list[Value]:
        """What is known after the loop, one of whose turns has these results."""
        return [
            Value(one.number if kept else None, one.outcomes | result.outcomes)
            for one, kept, result in zip(self.carry, self._kept, results, strict=True)
        ]
