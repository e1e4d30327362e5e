"""The table of lowering rules, keyed by the *name* of a primitive.

A rule is found by name, so this layer knows no primitive object and never imports the frontend.
The walker hands a rule its operands as MLIR values; a rule registered with `lazy=True` gets them
as they lie in the environment instead, which may be a `Lazy` value (an extracted qubit, say) that
becomes an MLIR value only where one is asked for (`LoweringContext.value`). Results may be lazy
for any rule. Equations on values of extended dtypes (PRNG keys, whose MLIR type has an axis more
than their abstract value) go past our rules to JAX's, except to rules with `keys=True`.

A rule that returns `NotImplemented` passes the equation on to JAX's own rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from diastase_mlir.emit.tensors import tensor_type
from diastase_mlir.jax_compat import ir


@runtime_checkable
class Lazy(Protocol):
    """A value that is put into the IR when somebody needs it."""

    def materialise(self) -> ir.Value:
        """The MLIR value, emitted at the current insertion point if need be."""
        ...


Value = ir.Value | Lazy
Rule = Callable[..., Sequence[Value]]
"""`(LoweringContext, Equation, *operands) -> results`, one for each result of the equation."""


@dataclass(frozen=True)
class Equation:
    """One equation of a jaxpr, without its variables."""

    primitive: Any
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    params: Mapping[str, Any]
    source_info: Any
    effects: Any = frozenset()
    jaxpr_context: Any = None
    """JAX settings under which it was traced."""


@dataclass(frozen=True)
class Entry:
    """A registered rule."""

    rule: Rule
    lazy: bool
    keys: bool


_rules: dict[str, Entry] = {}
_modules: dict[str, str] = {}
"""Where rules are that may not have been imported yet, by primitive."""


def lowers(*names: str, lazy: bool = False, keys: bool = False) -> Callable[[Rule], Rule]:
    """Register the decorated function as the lowering rule of these primitives."""

    def register(rule: Rule) -> Rule:
        for name in names:
            if name in _rules:
                raise ValueError(f"a second lowering rule for {name}")
            _rules[name] = Entry(rule, lazy, keys)
        return rule

    return register


def lowered_lazily(module: str, names: Iterable[str]) -> None:
    """Import a module only when one of these primitives, for which it has rules, is lowered."""
    _modules.update(dict.fromkeys(names, module))


def rule_of(name: str) -> Entry | None:
    """The rule of a primitive, if it has one of ours."""
    if name not in _rules and name in _modules:
        import_module(_modules[name])
    return _rules.get(name)


def lowered_primitives() -> frozenset[str]:
    """Names of all primitives with a rule of ours."""
    return frozenset(_rules) | frozenset(_modules)


class Literal:
    """A number that stands in the jaxpr, and in the IR where somebody needs it."""

    def __init__(self, number: Any, emit: Callable[[], ir.Value]):
        self.number, self.materialise = number, emit


def known_integer(value: Value) -> int | None:
    """The integer that a value of rank 0 is, where it stands in the program."""
    if isinstance(value, Literal):
        return int(value.number)
    number = _constant(value) if isinstance(value, ir.Value) else None
    return None if number is None else int(number)


def _constant(tensor: ir.Value) -> Any:
    """The number that a constant of rank 0 holds."""
    owner = tensor.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant":
        return None
    if isinstance(tensor_type(tensor).element_type, ir.ComplexType):
        return None  # the bindings cannot look into complex elements
    attribute: Any = ir.DenseElementsAttr(owner.attributes["value"]).get_splat_value()
    return attribute.value
