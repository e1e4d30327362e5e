"""Classical equations of a circuit's body, for all shots at once.

A value is known now (a number, an array), traced (the same for all shots), `Bits`, or `PerShot`:
whatever else depends on outcomes. What is computed of known values is computed now; of traced ones,
recorded; of bits, done to parities where that is possible. The rest is put off (`Deferred`), and
recorded when all bits of all shots are there, batched over the shots.

The trap: what an equation does beside computing would be done once, and not once for each shot; so
only checks of values that are the same for all shots are recorded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from diastase.capture.device_errors import NotCliffordError
from diastase.capture.dynamic_carry import dimension_table
from diastase.primitives.checks import require_p
from diastase.primitives.define import PRIMITIVES, draws
from diastase.quantum.clifford.values import Bits, constant_of, is_known, linear, moved
from diastase_mlir.jax_compat import (
    SizeCheckEffect,
    computed_now,
    evaluate_equation,
    is_symbolic,
    jaxprs_in,
)


@dataclass(frozen=True, eq=False)
class PerShot:
    """A value that a deferred computation gives."""

    number: int
    aval: Any


@dataclass(frozen=True, eq=False)
class Mean:
    """An average over outcomes, of a value that is conditional on them: a result, or nothing."""

    value: Any


@dataclass(frozen=True)
class Deferred:
    """A computation that is put off."""

    function: Callable[[Sequence[Any]], Sequence[Any]]
    operands: tuple[Any, ...]
    results: tuple[PerShot, ...]


def depends_on_outcomes(value: Any) -> bool:
    """Whether a value differs from shot to shot."""
    return isinstance(value, Bits | PerShot)


def construct_of(equation: Any) -> str:
    """What an equation is in the user's words."""
    record = PRIMITIVES.get(equation.primitive.name)
    return equation.primitive.name if record is None else record.construct


@dataclass
class Classical:
    """Evaluates classical equations; keeps what is put off."""

    deferred: list[Deferred] = field(default_factory=list)
    _count: int = 0
    _found: dict[Any, tuple[Sequence[Any], Sequence[Any]]] = field(default_factory=dict)
    """Results, and the operands, whose identities are part of the key, and must stay theirs."""

    def evaluate(self, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of an equation."""
        self._refuse_effects(equation, operands)
        if any(isinstance(operand, Mean) for operand in operands):
            reason = "is computed of averages that are conditional on outcomes"
            raise NotCliffordError(construct=f"a result ({construct_of(equation)})", reason=reason)
        if not any(map(depends_on_outcomes, operands)):
            return self._same_for_all(equation, operands)
        if not any(isinstance(operand, PerShot) for operand in operands):
            if all(isinstance(one, Bits) or is_known(one) for one in operands):
                found = moved(equation, operands) or linear(equation, operands)
                if found is not None:
                    return [_settled(value) for value in found]
        avals = [variable.aval for variable in equation.outvars]
        return self.defer(lambda values: evaluate_equation(equation, values), operands, avals)

    def defer(
        self,
        function: Callable[[Sequence[Any]], Sequence[Any]],
        operands: Sequence[Any],
        avals: Sequence[Any],
    ) -> Sequence[PerShot]:
        """Put a computation off."""
        results = tuple(PerShot(self._count + place, aval) for place, aval in enumerate(avals))
        self._count += len(avals)
        self.deferred.append(Deferred(function, tuple(operands), results))
        return results

    def _same_for_all(self, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """What loops compute again and again is recorded once."""
        key = _key(equation, operands)
        if key is not None and key in self._found:
            return self._found[key][0]
        known = all(map(is_known, operands)) and not equation.effects and operands
        results = self._now(equation, operands) if known else self._recorded(equation, operands)
        if key is not None:
            self._found[key] = results, operands
        return results

    def _now(self, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """Computed of known values."""
        if any(is_symbolic(size) for v in equation.outvars for size in v.aval.shape):
            return self._recorded(equation, operands)
        try:
            with computed_now():
                return [np.asarray(result) for result in evaluate_equation(equation, operands)]
        except NotImplementedError:  # a primitive of ours, which only programs compute
            return self._recorded(equation, operands)

    def _recorded(self, equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
        results, table = evaluate_equation(equation, operands), dimension_table()
        for variable, result in zip(equation.outvars, results, strict=True):
            table.note_copy(variable, result)
        return results

    def _refuse_effects(self, equation: Any, operands: Sequence[Any]) -> None:
        checks = all(isinstance(effect, SizeCheckEffect) for effect in equation.effects)
        if not checks or draws(equation):
            raise NotCliffordError(
                construct=construct_of(equation),
                reason="happens in each shot, and the shots of stabilizers are drawn at once",
            )
        if equation.effects and any(map(depends_on_outcomes, operands)):
            raise NotCliffordError(
                construct=construct_of(equation), reason="checks a value that depends on outcomes"
            )

    # --- when the bits are there --------------------------------------------------------------

    def for_all_shots(
        self, wanted: Sequence[PerShot], array_of: Callable[[Bits], Any]
    ) -> list[Any]:
        """Values of all shots; `array_of` gives those of bits, a row for each shot."""
        if not wanted:
            return []
        needed: list[Deferred] = []
        live = {value.number for value in wanted}
        for one in reversed(self.deferred):
            if any(result.number in live for result in one.results):
                needed.append(one)
                live |= {o.number for o in one.operands if isinstance(o, PerShot)}
        needed.reverse()
        bits = {id(o): o for one in needed for o in one.operands if isinstance(o, Bits)}

        def of_a_shot(*rows: Any) -> list[Any]:
            values = dict(zip(bits, rows, strict=True))
            found: dict[int, Any] = {}
            for one in needed:
                operands = [
                    found[o.number]
                    if isinstance(o, PerShot)
                    else values[id(o)]
                    if isinstance(o, Bits)
                    else o
                    for o in one.operands
                ]
                for result, value in zip(one.results, one.function(operands), strict=True):
                    found[result.number] = value
            return [found[value.number] for value in wanted]

        return list(jax.vmap(of_a_shot)(*map(array_of, bits.values())))

    def bits_of(self, value: PerShot) -> list[Bits]:
        """All bits that a value is computed of."""
        live, found = {value.number}, dict[int, Bits]()
        for one in reversed(self.deferred):
            if any(result.number in live for result in one.results):
                live |= {o.number for o in one.operands if isinstance(o, PerShot)}
                found |= {id(o): o for o in one.operands if isinstance(o, Bits)}
        return list(found.values())


def _settled(value: Bits) -> Any:
    """Bits that depend on no outcome are known."""
    constant = constant_of(value)
    return value if constant is None else constant


def _key(equation: Any, operands: Sequence[Any]) -> Any:
    """By which the results of an equation are found; None where it is large."""
    if any(jaxprs_in(equation.params)) or any(is_known(o) and np.ndim(o) for o in operands):
        return None
    given = tuple(
        (np.asarray(one).dtype.str, np.asarray(one).item()) if is_known(one) else id(one)
        for one in operands
    )
    if equation.primitive is require_p:  # of one value, whatever it is required for
        return equation.primitive.name, given
    return None if equation.effects else (equation.primitive.name, str(equation.params), given)
