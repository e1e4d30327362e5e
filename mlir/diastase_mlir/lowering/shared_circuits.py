"""Which circuits of a program are equal, so that they are lowered once (`functions`).

`SharedCircuits` looks, before anything is lowered, for `qnode` equations whose bodies are the
same: equal equations, settings and constants at the same lines of the user's (`StructureKeys`),
with the same passes asked for. A body of which no key can be said stays in place: it calls a Python
function, or has a symbolic size, whose value lies outside of a function. So does one that occurs
once.

In: a jaxpr. Out: for the jaxpr of a `qnode` equation, a key that its equals share, or None.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from diastase_mlir.jax_internals import jaxprs_in
from diastase_mlir.program_keys import StructureKeys

_NUMBERS = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
})  # fmt: skip
"""Of what arrays consist that functions take and return."""


class SharedCircuits:
    """The bodies that a program has more than once."""

    def __init__(self, jaxpr: Any):
        self._keys: dict[int, str] = {}
        """By the identity of a body, which the program keeps alive."""
        alike: defaultdict[Any, list[Any]] = defaultdict(list)
        for equation in _circuits(jaxpr):
            alike[_outline(equation)].append(equation)
        for equations in alike.values():
            if len(equations) > 1:
                self._compare(equations)

    def _compare(self, equations: Sequence[Any]) -> None:
        """Note the keys of those that are equal; none of the others is worth a key."""
        keys = StructureKeys()
        bodies: defaultdict[str, list[int]] = defaultdict(list)
        for equation in equations:
            key = keys.key(equation.params["jaxpr"])
            if key is not None:
                bodies[key].append(id(equation.params["jaxpr"]))
        for key, equal in bodies.items():
            if len(equal) > 1:
                self._keys.update(dict.fromkeys(equal, key))

    def key_of(self, jaxpr: Any) -> str | None:
        """What a body has in common with its equals; None where it has none."""
        return self._keys.get(id(jaxpr))


def _circuits(jaxpr: Any) -> Iterator[Any]:
    """All `qnode` equations, at any depth."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if equation.primitive.name == "qnode":
            yield equation
            continue
        for inner in jaxprs_in(equation.params):
            yield from _circuits(inner)


def _outline(equation: Any) -> Any:
    """What is seen at once of a body; one that cannot be shared has an outline of its own."""
    jaxpr = equation.params["jaxpr"].jaxpr
    avals = [atom.aval for atom in (*equation.invars, *equation.outvars)]
    if not all(str(getattr(aval, "dtype", "")) in _NUMBERS for aval in avals):
        return id(equation)
    return len(jaxpr.eqns), *(equation_inside.primitive.name for equation_inside in jaxpr.eqns[:8])
