"""Which results of a circuit's body may differ from run to run, and which need no circuit at all.

A body that is run once for each shot gives classical values, too. Those that depend on what was
drawn (an outcome, a callback) differ; the others are the same each time. Both are read from the
*part* of the body that a result needs, at any depth of control flow (`needed_part`, a program
slice):

    { lambda ; n r. let                              { lambda ; n. let
        s = gate[name=RX] r n                            c d = for_loop[body=B'] 0 n 1 2. n
        t a b c d = for_loop[body=B] 0 n 1 s 1. 0 2. n ->
      in (t, a, b, c) }                                in (c,) }

`B'` computes `c`, and `d`, which `c` is computed of: of control flow, only those carried values and
branches' results are in the part that are needed themselves. All other equations are its `leaves`,
inside of control flow, too. What is there for its effects only is left out. Types depend on sizes:
a variable that defines a symbol is needed where the symbol is used.

The trap: the register is drawn into everything, so it is never followed. An equation in the part
that reads one (it measures, say) has it among its operands, and nothing computes it; such a part
cannot be evaluated.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jax.extend.core import ClosedJaxpr, Literal

from diastase.capture.dynamic_carry import dimension_table
from diastase.jaxprs.evaluate import evaluated
from diastase.primitives.define import draws
from diastase.primitives.quantum import is_register, touches_register
from diastase.quantum.classical_slice import Equation, effects_of
from diastase_mlir.jax_compat import equations_of, rebuilt, settled, symbols_in


@dataclass
class _Live:
    """What is needed, walking backwards."""

    variables: set[Any] = field(default_factory=set[Any])
    symbols: set[str] = field(default_factory=set[str])

    def needs(self, variable: Any) -> bool:
        if is_register(variable):
            return False
        defined = dimension_table().symbols_of(variable)
        return variable in self.variables or not self.symbols.isdisjoint(defined)

    def read(self, atoms: Iterable[Any]) -> None:
        for atom in atoms:
            self.symbols |= symbols_in(getattr(atom.aval, "shape", ()))
            if not isinstance(atom, Literal):
                self.variables.add(atom)


@dataclass(frozen=True)
class Part:
    """A part of a region: the inputs that it has left, its results are those asked for."""

    region: ClosedJaxpr
    inputs: list[int]
    equations: list[Equation]
    results: Sequence[int]
    leaves: list[Equation]
    symbols: set[str]

    def jaxpr(self, inputs: Sequence[int] | None = None) -> ClosedJaxpr:
        """As a jaxpr, of other inputs of the region than those that it needs if they are given."""
        jaxpr = self.region.jaxpr
        return rebuilt(
            self.region,
            [jaxpr.invars[k] for k in (self.inputs if inputs is None else inputs)],
            self.equations,
            [jaxpr.outvars[k] for k in self.results],
        )


def needed_part(region: ClosedJaxpr, results: Sequence[int]) -> Part:
    """What the results at these positions need."""
    jaxpr, live = region.jaxpr, _Live()
    equations, leaves = list[Equation](), list[Equation]()
    live.read(jaxpr.outvars[position] for position in results)
    for equation in reversed(jaxpr.eqns):
        wanted = _wanted(equation, live)
        if not wanted:
            continue
        rule = _RULES.get(equation.primitive.name)
        inner = list[Part]()
        if rule is not None:
            equation, inner = rule(equation, wanted)
        for part in inner:
            leaves += part.leaves
            live.symbols |= part.symbols
        if not inner:
            leaves.append(equation)
            live.symbols |= symbols_in(equation.params)
        live.read(equation.outvars)
        live.read(equation.invars)
        equations.append(equation)
    inputs = [k for k, variable in enumerate(jaxpr.invars) if live.needs(variable)]
    return Part(region, inputs, equations[::-1], results, leaves, live.symbols)


def _wanted(equation: Equation, live: _Live) -> set[int]:
    """Which results are needed: of them, and of others that define the sizes of these."""
    wanted = set[int]()
    while True:
        more = {k for k, variable in enumerate(equation.outvars) if live.needs(variable)}
        if more == wanted:
            return wanted
        live.read(equation.outvars[k] for k in more - wanted)
        wanted = more


def _for_loop(equation: Equation, wanted: set[int]) -> tuple[Equation, list[Part]]:
    count = equation.params["body_nconsts"]
    first = count + 1
    carry, part = _carried(equation.params["body_jaxpr"], first, wanted)
    constants = [k for k in part.inputs if k < count]
    body = part.jaxpr([*constants, count, *(first + k for k in carry)])
    operands = [*constants, *range(count, count + 3), *(count + 3 + k for k in carry)]
    changed = {"body_jaxpr": body, "body_nconsts": len(constants)}
    return _with(equation, operands, carry, changed), [part]


def _while_loop(equation: Equation, wanted: set[int]) -> tuple[Equation, list[Part]]:
    params = equation.params
    tested, count = params["cond_nconsts"], params["body_nconsts"]
    test = needed_part(params["cond_jaxpr"], [0])
    wanted = wanted | {k - tested for k in test.inputs if k >= tested}
    carry, part = _carried(params["body_jaxpr"], count, wanted)
    of_test = [k for k in test.inputs if k < tested]
    of_body = [k for k in part.inputs if k < count]
    changed = {
        "cond_jaxpr": test.jaxpr([*of_test, *(tested + k for k in carry)]),
        "body_jaxpr": part.jaxpr([*of_body, *(count + k for k in carry)]),
        "cond_nconsts": len(of_test),
        "body_nconsts": len(of_body),
    }
    operands = [*of_test, *(tested + k for k in of_body), *(tested + count + k for k in carry)]
    return _with(equation, operands, carry, changed), [test, part]


def _switch(equation: Equation, wanted: set[int]) -> tuple[Equation, list[Part]]:
    results = sorted(wanted)
    parts = [needed_part(branch, results) for branch in equation.params["branch_jaxprs"]]
    inputs = sorted({k for part in parts for k in part.inputs})
    changed = {"branch_jaxprs": tuple(part.jaxpr(inputs) for part in parts)}
    return _with(equation, [0, *(1 + k for k in inputs)], results, changed), parts


def _carried(body: ClosedJaxpr, first: int, wanted: set[int]) -> tuple[list[int], Part]:
    """All carried values that those wanted are computed of, and the part of the body for them."""

    def turn(carry: set[int]) -> tuple[set[int], Part]:
        part = needed_part(body, sorted(carry))
        return carry | {k - first for k in part.inputs if k >= first}, part

    carry, part = settled(wanted, turn)
    return sorted(carry), part


def _with(
    equation: Equation, operands: Sequence[int], results: Sequence[int], changed: dict[str, Any]
) -> Equation:
    avals = tuple(equation.params["result_avals"][k] for k in results)
    params = {**equation.params, **changed, "result_avals": avals}
    return equation.replace(
        invars=[equation.invars[k] for k in operands],
        outvars=[equation.outvars[k] for k in results],
        params=params,
        effects=effects_of(params),
    )


_RULES: Mapping[str, Callable[[Equation, set[int]], tuple[Equation, list[Part]]]] = {
    "for_loop": _for_loop,
    "while_loop": _while_loop,
    "switch": _switch,
}
"""Control flow that may have a register among what it carries."""


def differs(jaxpr: ClosedJaxpr) -> list[bool]:
    """For each result of a circuit's body, whether it may differ from run to run."""
    places = range(len(jaxpr.out_avals))
    if not any(map(_differs, needed_part(jaxpr, places).leaves)):
        return [False for _ in places]
    return [any(map(_differs, needed_part(jaxpr, [place]).leaves)) for place in places]


def classical_results(jaxpr: ClosedJaxpr, operands: Sequence[Any]) -> dict[int, Any]:
    """By their places, the results of a body that need no register, evaluated without it.

    All at once: what several are computed of is computed once.
    """
    places = [k for k in range(len(jaxpr.out_avals)) if _is_classical(needed_part(jaxpr, [k]))]
    part = needed_part(jaxpr, places)
    values = evaluated(part.jaxpr(), [operands[k] for k in part.inputs])
    return dict(zip(places, values, strict=True))


def _is_classical(part: Part) -> bool:
    return not any(touches_register(leaf) or _differs(leaf) for leaf in part.leaves)


def _differs(equation: Any) -> bool:
    """Whether an equation, or one inside of it, draws or asks Python."""
    asking = (
        each.primitive.name in ("device_step", "io_callback") for each in equations_of(equation)
    )
    return any(asking) or draws(equation)
