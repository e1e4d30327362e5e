"""Primitives as records: everything that the frontend knows about one, in one call.

`define_primitive` makes a JAX primitive from its abstract evaluation, its effects and either its
differentiation and batching rules or the reason why it has none; a rule that is missing raises
our error naming the construct and the user's line. Lowering is not here: rules in the compiler
are keyed by the primitive's name. `PRIMITIVES` lists all of ours.

What a primitive *is* stands in its record, too: its roles. Whoever asks for a kind of equation asks
`has_role`; nobody keeps names of primitives in a list of their own (but for tables of rules).

Rules that have to trace something belong to the layer above: `provide_rules` says how they are
loaded, once, when the first of them is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from jax.extend.core import Primitive
from jax.interpreters import ad, batching

from diastase.primitives.errors import NotTransformableError
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_compat import equations_in, equations_of, set_batching, set_linearisation
from diastase_mlir.jax_compat.x64 import in_64_bits


class Role(StrEnum):
    """What a primitive is to those who read programs; it has one or several."""

    LIFETIME = "begins or ends a register"
    OPERATION = "takes a circuit's register, first, and gives the next one"
    GATE = "an operation that is unitary"
    OF_ARRAY = "an operation whose parameter, behind the register, is an array of amplitudes"
    RECORDED = "an operation that a recording register keeps, so that a sweep goes back through it"
    CHANNEL = "an operation that is noise; its parameter `construct` is what PennyLane calls it"
    START = "an operation that circuits start with, and that is not undone with them"
    OUTCOME = "measures in the middle of a circuit: gives the next register, and an outcome"
    MEASUREMENT = "reads a circuit's register and leaves it alone"
    AVERAGE = "a measurement that is linear in the density matrix"
    RANDOM = "gives something else in each run"
    VECTOR = "takes registers as vectors: copies, sums, products, what a sweep needs"
    SCRIPT = "a step of running a circuit once for each string of outcomes"
    CIRCUIT = "runs circuits, or their derivatives: classical operands and results"
    CONTROL_FLOW = "a loop or branches, through which a register may go"
    INLINED = "stands for its jaxpr: lowered in place, so symbols defined inside are known after"
    BATCH = "computes its jaxpr for each element of a batch"
    CHECK = "has no results: an error, or the end of the program, where something does not hold"
    CLASSICAL = "computes arrays of arrays, and does nothing else"
    HOST = "runs outside of compiled code"
    EXPANDED = "replaced by other equations when tracing is over, so that no compiler sees it"


@dataclass(frozen=True)
class PrimitiveRecord:
    """One primitive of ours."""

    primitive: Primitive
    construct: str
    """What it is in the user's words: `for_loop`, `cond or switch`."""
    missing_rules: Mapping[str, str]
    """Transformation (`jvp`, `transpose`, `vmap`) -> why there is no rule for it."""
    roles: frozenset[Role]
    provided_rules: frozenset[str] = frozenset()
    """Transformations whose rules are loaded when they are needed; see `provide_rules`."""

    @property
    def name(self) -> str:
        """The name that the compiler's lowering rule is keyed by."""
        return self.primitive.name


PRIMITIVES: dict[str, PrimitiveRecord] = {}
"""All primitives defined by `define_primitive`, by name."""


def has_role(equation: Any, *roles: Role) -> bool:
    """Whether an equation is of a primitive of ours with any of these roles."""
    record = PRIMITIVES.get(equation.primitive.name)
    return record is not None and not record.roles.isdisjoint(roles)


Rule = Callable[..., Any]
_providers: list[Callable[[], Mapping[tuple[str, str], Rule]]] = []

_RULE_TABLES: Mapping[str, Any] = {
    "jvp": ad.primitive_jvps,
    "transpose": ad.primitive_transposes,
    "vmap": batching.primitive_batchers,
}

_OTHER_TABLES: Mapping[str, Callable[[Primitive, Rule], None]] = {
    "linearise": set_linearisation,
    "vmap_of_axis": set_batching,
}
_OF_AXIS = {"vmap_of_axis": "vmap"}


def define_primitive(
    name: str,
    *roles: Role,
    construct: str,
    abstract_eval: Callable[..., Any],
    has_effects: bool = False,
    multiple_results: bool = True,
    rules: Mapping[str, Callable[..., Any]] | None = None,
    missing_rules: Mapping[str, str] | None = None,
    provided_rules: Sequence[str] = (),
) -> Primitive:
    """Make a primitive; `abstract_eval` returns `(avals, effects)` if `has_effects`.

    Every transformation in `jvp`, `transpose`, `vmap` must stand in `rules`, `missing_rules` or
    `provided_rules`, whose rules come from a provider. `linearise` is what reverse mode asks for
    first; a primitive without has it from its `jvp`. `vmap_of_axis` in the place of `vmap` is given
    the axis, too.
    """
    rules, missing_rules = dict(rules or {}), dict(missing_rules or {})
    for transformation in provided_rules:
        missing_rules.pop(_OF_AXIS.get(transformation, transformation), None)
        rules[transformation] = _from_provider(name, transformation)
    given = {_OF_AXIS.get(name, name) for name in (*rules, *missing_rules)} - {"linearise"}
    assert given == set(_RULE_TABLES), f"{name}: rules are incomplete"
    assert roles, f"{name}: it has no role"
    primitive = Primitive(name)
    primitive.multiple_results = multiple_results
    define = primitive.def_effectful_abstract_eval if has_effects else primitive.def_abstract_eval
    define(abstract_eval)
    for transformation, rule in rules.items():
        if transformation in _OTHER_TABLES:
            _OTHER_TABLES[transformation](primitive, rule)
        else:
            _RULE_TABLES[transformation][primitive] = rule
    for transformation, reason in missing_rules.items():
        _RULE_TABLES[transformation][primitive] = _refusal(construct, transformation, reason)
    PRIMITIVES[name] = PrimitiveRecord(
        primitive, construct, missing_rules, frozenset(roles), frozenset(provided_rules)
    )
    return primitive


def provide_rules(load: Callable[[], Mapping[tuple[str, str], Rule]]) -> None:
    """Say where rules come from: `(primitive, transformation)` -> rule; loaded when needed."""
    _providers.append(load)


def _from_provider(name: str, transformation: str) -> Rule:
    def apply(*args: Any, **kwargs: Any) -> Any:
        rule = next(
            found
            for load in _providers
            if (found := load().get((name, transformation))) is not None
        )
        with in_64_bits():
            return rule(*args, **kwargs)

    return apply


def _refusal(construct: str, transformation: str, reason: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotTransformableError(
            construct=construct, transformation=transformation, reason=reason, span=user_span()
        )

    return refuse


def draws(equation: Any) -> bool:
    """Whether an equation, or one inside of it, draws."""
    return any(map(_draws, equations_of(equation)))


def any_draws(within: Any) -> bool:
    """Whether an equation draws in a jaxpr, or in any of those among parameters."""
    return any(map(_draws, equations_in(within)))


def _draws(equation: Any) -> bool:
    on_device = equation.primitive.name == "device_step" and equation.params["step"].draws
    return on_device or has_role(equation, Role.RANDOM)
