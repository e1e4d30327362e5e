"""The classical part of a region: its jaxpr without the register.

    { lambda ; n r. let                         { lambda ; n. let
        a = sin n                                   a = sin n
        s = gate[name=RX] r a            ->
        t b = for_loop[body=B] 0 n 1 s a            b = for_loop[body=B'] 0 n 1 a
      in (t, b) }                                 in (b, a) }

Equations on the register go; control flow that also carries classical values stays, with the
classical parts of its bodies; what has neither results nor effects goes. The variables that the
missing equations have read become results, too.

Variables stay what they are, so the symbols of sizes that they define do. Where a classical part is
evaluated once more (`repeated`), what is there for its effects only is left out: it has happened.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr, Var

from diastase.capture.quantum_errors import UnrepeatableError
from diastase.primitives.define import Role, has_role
from diastase.primitives.quantum import is_register, is_register_aval
from diastase_mlir import span_of
from diastase_mlir.jax_compat import SizeCheckEffect, jaxprs_in, rebuilt, with_jaxprs

Equation = Any


def without_registers(atoms: Iterable[Any]) -> list[Any]:
    """The classical ones among these variables."""
    return [atom for atom in atoms if not is_register(atom)]


def is_quantum(equation: Equation) -> bool:
    """Whether an equation acts on the register."""
    return any(map(is_register, equation.invars))


def classical_part(
    closed: ClosedJaxpr, needed: Sequence[Var] = (), *, repeated: bool = False
) -> ClosedJaxpr:
    """The jaxpr without the register; it returns these variables after its own results."""
    jaxpr = closed.jaxpr
    kept = [_classical(equation, repeated) for equation in jaxpr.eqns]
    return rebuilt(
        closed,
        inputs=without_registers(jaxpr.invars),
        equations=[equation for equation in kept if equation is not None],
        outputs=[*without_registers(jaxpr.outvars), *needed],
    )


def _classical(equation: Equation, repeated: bool) -> Equation | None:
    """What remains of an equation."""
    if repeated and equation.primitive.name == "qnode":
        raise UnrepeatableError(construct="a QNode", span=span_of(equation.source_info))
    if is_quantum(equation):
        if not has_role(equation, Role.CONTROL_FLOW):
            return None  # it has no classical results
        params = with_jaxprs(equation.params, lambda part: classical_part(part, repeated=repeated))
        avals = params["result_avals"]
        params = {**params, "result_avals": tuple(a for a in avals if not is_register_aval(a))}
        equation = equation.replace(
            invars=without_registers(equation.invars),
            outvars=without_registers(equation.outvars),
            params=params,
            effects=effects_of(params),
        )
    idle = not equation.outvars and not _lasting(equation.effects, repeated)
    return None if idle and (repeated or not equation.effects) else equation


def _lasting(effects: Iterable[Any], repeated: bool) -> bool:
    """Whether there are effects that an equation is to be kept for."""
    return any(not repeated or isinstance(effect, SizeCheckEffect) for effect in effects)


def effects_of(params: Mapping[str, Any]) -> set[Any]:
    """What the jaxprs among an equation's parameters do beside computing."""
    return set[Any]().union(*(jaxpr.effects for jaxpr in jaxprs_in(params)))
