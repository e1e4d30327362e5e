"""Circuits as lines of text: what two of them do not have in common, and what makes them equal."""

import difflib
from collections.abc import Iterator
from typing import Any

from diastase_mlir.rewritings import Equations, Rewriting

_SHOWN = ("name", "wires", "control_values", "word", "reset", "postselect", "words")
_LONGEST = 24


def lines_of(side: Equations, names: dict[Any, str]) -> Iterator[str]:
    """A line for each equation, those of regions indented."""
    yield from _lines(side.equations, names, "")
    yield "return " + " ".join(_name(atom, names) for atom in side.results)


def difference_of(rewriting: Rewriting) -> str:
    """The lines that only one side has."""
    names: dict[Any, str] = {}
    before, after = (list(lines_of(side, names)) for side in (rewriting.before, rewriting.after))
    found = difflib.unified_diff(before, after, "before", "after", n=0, lineterm="")
    shown = [line for line in found if not line.startswith("@@")]
    more = [f"... and {len(shown) - _LONGEST} lines more"] if len(shown) > _LONGEST else []
    return "\n".join([*shown[:_LONGEST], *more])


def known_wires(side: Equations) -> int:
    """How many wires the register has that equations take, as far as they tell."""
    most = 3
    for equation in _all_of(side.equations):
        params = equation.params
        wires = [wire for wire in params.get("wires", ()) if wire is not None]
        wires += [w for word in params.get("words", ()) for _, w in word if w is not None]
        most = max([most, *(wire + 1 for wire in wires if wire < 1 << 19)])
        size = params.get("size")
        if type(size) is int and equation.primitive.name in ("probs", "state"):
            if not params.get("wires"):
                return size.bit_length() - 1
    return most


def number_of_gates(side: Equations) -> int:
    """How many there are, those of loops once."""
    return sum(each.primitive.name == "gate" for each in _all_of(side.equations))


def _all_of(equations: Any) -> Iterator[Any]:
    for equation in equations:
        yield equation
        for _, inner in _regions(equation):
            yield from _all_of(inner)


def _regions(equation: Any) -> Iterator[tuple[str, Any]]:
    for key, value in equation.params.items():
        for part in value if isinstance(value, tuple | list) else (value,):
            jaxpr = getattr(part, "jaxpr", part)
            if hasattr(jaxpr, "eqns"):
                yield key, jaxpr.eqns
            elif hasattr(part, "primitive"):
                yield key, [part]


def _lines(equations: Any, names: dict[Any, str], indent: str) -> Iterator[str]:
    for equation in equations:
        params = equation.params
        shown = [f"{key}={params[key]}" for key in _SHOWN if params.get(key) not in (None, (), "")]
        regions = list(_regions(equation))
        if not regions and not shown:
            shown = [f"{key}={value}" for key, value in params.items()]
        operands = [_name(atom, names) for atom in equation.invars]
        results = [_name(variable, names) for variable in equation.outvars]
        yield (
            f"{indent}{' '.join(results)} = {equation.primitive.name}[{' '.join(shown)}] "
            f"{' '.join(operands)}"
        )
        for key, inner in regions:
            yield f"{indent}  {key}:"
            yield from _lines(inner, names, indent + "    ")


def _name(atom: Any, names: dict[Any, str]) -> str:
    if hasattr(atom, "val"):
        return str(atom.val)
    if hasattr(atom.aval, "mlir_type"):
        return "r"  # each takes the one before
    return names.setdefault(atom, f"v{len(names)}")
