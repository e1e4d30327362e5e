"""JAX's printer of jaxprs, with its layout and its way to show parameters, which is not public."""

# Private names are what this package is for.
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jax.core import AbstractValue
from jax.extend.core import (
    ClosedJaxpr,
    DebugInfo,
    DropVar,
    Jaxpr,
    Literal,
    Primitive,
    Var,
    new_jaxpr_eqn,
    no_effects,
)

from diastase_mlir.jax_compat.private import core


class _PrintedType(AbstractValue):
    """A type that is only printed."""

    def __init__(self, text: Callable[[], str]):
        self._text = text

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return self._text()


class JaxprPrinter:
    """Builds a jaxpr out of JAX's classes that is good for printing, and prints it."""

    def __init__(self) -> None:
        self._context = core.JaxprPpContext()

    def name(self, atom: Any) -> str:
        """What a variable or literal is called in the text."""
        return atom.pretty_print(self._context, print_dtype=False)

    def variable(self, type_text: Callable[[], str], is_dropped: bool) -> Any:
        """A variable, or `_`, whose type prints as this text."""
        return (DropVar if is_dropped else Var)(_PrintedType(type_text))

    def literal(self, value: Any, aval: Any) -> Any:
        """A number written out."""
        return Literal(value, aval)

    def equation(
        self,
        primitive: str,
        operands: Sequence[Any],
        results: Sequence[Any],
        params: Mapping[str, Any],
        original: Any,
        source_info: Any = None,
    ) -> Any:
        """An equation; JAX shows the parameters of an `original` in its own way."""
        known = Primitive(primitive) if original is None else original.primitive
        return new_jaxpr_eqn(operands, results, known, dict(params), no_effects, source_info)

    def jaxpr(
        self,
        constants: Sequence[Any],
        inputs: Sequence[Any],
        equations: Sequence[Any],
        outputs: Sequence[Any],
        name: str,
    ) -> Any:
        """A jaxpr; closed, as JAX's printers of some primitives want those inside them."""
        debug = DebugInfo("explicit form", name, None, None)
        jaxpr = Jaxpr(constants, inputs, outputs, equations, debug_info=debug)
        # From jax 0.12 on, only constants that have values are printed as such.
        return ClosedJaxpr(jaxpr, [None] * len(constants))

    def text(self, jaxpr: Any, sources: "Sources | None" = None) -> str:
        """The text of a jaxpr, nested ones in place; to `sources` goes what `located_text` says."""
        document = core.pp_jaxpr(jaxpr.jaxpr, self._context, core.JaxprPpSettings())
        # Types take more room than JAX's.
        return document.format(width=100, use_color=False, source_map=sources)


Sources = list[list[tuple[int, int, Any]]]
"""Of each line of a text: from which column to which it comes from which traceback."""


def located_text(jaxpr: ClosedJaxpr) -> tuple[str, Sources]:
    """A jaxpr as it prints itself, and which traceback each of its lines comes from."""
    sources: Sources = []
    printed: Any = jaxpr.jaxpr
    return printed.pretty_print(use_color=False, source_map=sources), sources
