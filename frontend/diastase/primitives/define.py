"""Primitives as records: everything that the frontend knows about one, in one call.

`define_primitive` makes a JAX primitive from its abstract evaluation, its effects and either its
differentiation and batching rules or the reason why it has none; a rule that is missing raises
our error naming the construct and the user's line. Lowering is not here: rules in the compiler
are keyed by the primitive's name. `PRIMITIVES` lists all of ours.

Rules that have to trace something belong to the layer above: `provide_rules` says how they are
loaded, once, when the first of them is asked for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from jax.extend.core import Primitive
from jax.interpreters import ad, batching

from diastase.errors import NotTransformableError
from diastase.width import in_64_bits
from diastase_mlir.diagnostics import user_span
from diastase_mlir.jax_internals import set_batching, set_linearisation


@dataclass(frozen=True)
class PrimitiveRecord:
    """One primitive of ours."""

    primitive: Primitive
    construct: str
    """What it is in the user's words: `for_loop`, `cond or switch`."""
    missing_rules: Mapping[str, str]
    """Transformation (`jvp`, `transpose`, `vmap`) -> why there is no rule for it."""
    reaches_compiler: bool = True
    """Whether it is lowered; or replaced by other equations when tracing is over."""

    @property
    def name(self) -> str:
        """The name that the compiler's lowering rule is keyed by."""
        return self.primitive.name


PRIMITIVES: dict[str, PrimitiveRecord] = {}
"""All primitives defined by `define_primitive`, by name."""

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
    *,
    construct: str,
    abstract_eval: Callable[..., Any],
    has_effects: bool = False,
    multiple_results: bool = True,
    rules: Mapping[str, Callable[..., Any]] | None = None,
    missing_rules: Mapping[str, str] | None = None,
    provided_rules: Sequence[str] = (),
    reaches_compiler: bool = True,
) -> Primitive:
    """Make a primitive; `abstract_eval` returns `(avals, effects)` if `has_effects`.

    Every transformation in `jvp`, `transpose`, `vmap` must stand in `rules`, `missing_rules` or
    `provided_rules`, whose rules come from a provider. `linearise` is what reverse mode asks for
    first; a primitive without has it from its `jvp`. `vmap_of_axis` in the place of `vmap` is given
    the axis, too.
    """
    rules, missing_rules = dict(rules or {}), dict(missing_rules or {})
    for transformation in provided_rules:
        missing_rules.pop(transformation, None)
        rules[transformation] = _from_provider(name, transformation)
    given = {_OF_AXIS.get(name, name) for name in (*rules, *missing_rules)} - {"linearise"}
    assert given == set(_RULE_TABLES), f"{name}: rules are incomplete"
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
    PRIMITIVES[name] = PrimitiveRecord(primitive, construct, missing_rules, reaches_compiler)
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
