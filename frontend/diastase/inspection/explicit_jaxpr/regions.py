"""How the nested jaxprs of an equation are connected to its operands and results.

`regions(equation)` gives one `Region` for each nested jaxpr: the operand that each input takes
(None for what the primitive makes: the index of a loop), the result that each output becomes, and
for a loop which output is the next iteration's input. Of a primitive without an entry in `_RULES`
nothing is known: a reduction's function takes elements of its operands, for example.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diastase.inspection.explicit_jaxpr.model import ExplicitEquation, ExplicitJaxpr
from diastase.inspection.explicit_jaxpr.types import Atom, ExplicitVariable
from diastase_mlir.jax_compat import CALLS


@dataclass(frozen=True)
class Region:
    """One nested jaxpr of an equation."""

    name: str
    """The parameter it is: `body_jaxpr`, `branch_jaxprs[1]`."""
    jaxpr: ExplicitJaxpr
    operands: Sequence[Atom | None] | None = None
    """The operand that each input takes; None if unknown."""
    results: Sequence[ExplicitVariable] | None = None
    """The result that each output becomes; None if unknown, or if there are none."""
    carried: Mapping[int, int] = field(default_factory=dict)
    """Input -> the output that it is in the next iteration."""
    rows: tuple[int, int] | None = None
    """Of a scan: from these inputs and outputs on, operands and results have one more axis."""
    is_condition: bool = False
    """Whether it returns a boolean that decides if the loop goes on."""


def regions(equation: ExplicitEquation) -> list[Region]:
    """The nested jaxprs of an equation."""
    found = [
        (label, jaxpr)
        for name, value in equation.params.items()
        for label, jaxpr in _jaxprs(name, value)
    ]
    rule = _RULES.get(equation.primitive, _unknown)
    return rule(equation, found) if found else []


def _jaxprs(name: str, value: Any) -> list[tuple[str, ExplicitJaxpr]]:
    if isinstance(value, ExplicitJaxpr):
        return [(name, value)]
    if isinstance(value, tuple | list):
        labels = getattr(value, "_fields", range(len(value)))
        parts = zip(labels, value, strict=True)
        return [found for label, part in parts for found in _jaxprs(f"{name}[{label}]", part)]
    return []


Found = Sequence[tuple[str, ExplicitJaxpr]]


def _called(equation: ExplicitEquation, found: Found) -> list[Region]:
    ((name, jaxpr),) = found
    return [Region(name, jaxpr, equation.operands, equation.results)]


def _unknown(_: ExplicitEquation, found: Found) -> list[Region]:
    return [Region(name, jaxpr) for name, jaxpr in found]


def _branches(equation: ExplicitEquation, found: Found) -> list[Region]:
    return [Region(name, jaxpr, equation.operands[1:], equation.results) for name, jaxpr in found]


def _for_loop(equation: ExplicitEquation, found: Found) -> list[Region]:
    ((name, body),) = found
    constants = equation.params["body_nconsts"]
    implicit = equation.params["nimplicit"]
    first = constants + implicit
    captured, (_, _, _, start, *carry) = equation.operands[:first], equation.operands[first:]
    carried = {constants + item: item for item in range(implicit)}
    carried |= {first + 1 + item: implicit + item for item in range(len(carry))}
    operands = (*captured, start, *carry)
    return [Region(name, body, operands, equation.results, carried)]


def _while_loop(equation: ExplicitEquation, found: Found) -> list[Region]:
    jaxprs = dict(found)
    tested, constants = equation.params["cond_nconsts"], equation.params["body_nconsts"]
    operands, carry = equation.operands, equation.operands[tested + constants :]
    carried = {constants + item: item for item in range(len(carry))}
    body_operands = (*operands[tested : tested + constants], *carry)
    return [
        Region(
            "cond_jaxpr",
            jaxprs["cond_jaxpr"],
            (*operands[:tested], *carry),
            is_condition=True,
        ),
        Region("body_jaxpr", jaxprs["body_jaxpr"], body_operands, equation.results, carried),
    ]


def _scan(equation: ExplicitEquation, found: Found) -> list[Region]:
    ((name, body),) = found
    constants, count = equation.params["num_consts"], equation.params["num_carry"]
    carried = {constants + item: item for item in range(count)}
    operands = equation.operands
    if equation.params["length"] is None:
        operands = operands[:-1]
    return [
        Region(name, body, operands, equation.results, carried, rows=(constants + count, count))
    ]


_RULES: Mapping[str, Callable[[ExplicitEquation, Found], list[Region]]] = {
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _branches,
    "while": _while_loop,
    "cond": _branches,
    "scan": _scan,
    **dict.fromkeys((*CALLS, "qnode"), _called),
}
