"""What a lowering rule can ask for: types, values, sizes, nested jaxprs, error sites, the host.

One `LoweringContext` serves one program. All of its methods emit at the current insertion point.
What it keeps:

- where each dimension symbol has its value (an `index`); `region()` forgets, on leaving a region
  of the IR, the symbols defined inside it;
- `failures` (`error_sites`), `counts` (`equation_counts`), `functions`, and the host callbacks.
"""

from collections import Counter
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from itertools import count
from math import prod
from typing import Any

from diastase_mlir import jax_compat
from diastase_mlir.emit.operations import signless_type
from diastase_mlir.jax_compat import OwnModuleContext, ir
from diastase_mlir.lowering.core.array_types import element_type, retyped
from diastase_mlir.lowering.core.dimensions import Dimensions
from diastase_mlir.lowering.core.equation_counts import EquationCounts
from diastase_mlir.lowering.core.error_sites import Failures
from diastase_mlir.lowering.core.functions import Function, SharedBodies, call_function
from diastase_mlir.lowering.core.lowered_module import HostCallback
from diastase_mlir.lowering.core.registry import Equation, Literal, Value
from diastase_mlir.program import DimensionBindings
from diastase_mlir.rerolling import equations_to_lower
from diastase_runtime.abi import ImportedLibrary
from diastase_runtime.errors import OutOfMemoryError
from diastase_toolchain.signals import deliver_signals

EquationLowering = Callable[["LoweringContext", Equation, Sequence[Value]], Sequence[Value]]


class LoweringContext:
    """State of the lowering of one program, and the services rules use."""

    def __init__(
        self,
        module_context: OwnModuleContext,
        bindings: DimensionBindings,
        lower_equation: EquationLowering,
        shared_bodies: SharedBodies,
    ):
        self.module_context = module_context
        self.dimensions = Dimensions(bindings)
        self.imports: Counter[ImportedLibrary] = Counter()
        """How often a function of each library was asked for so far."""
        self.failures = Failures()
        self.callbacks: list[HostCallback] = []
        self.counts = EquationCounts(self.callbacks, self.imports)
        self.uses_engine = False
        self.shared_bodies = shared_bodies
        self.functions: dict[Hashable, Function] = {}
        """Those that the module has so far, by what they compute."""
        self.function_numbers = count()
        self._types: dict[Any, ir.Type] = {}
        """Of arrays of known sizes."""
        self._rewritten: dict[int, tuple[Any, Sequence[Any]]] = {}
        self._lower_equation = lower_equation

    # --- types and values ------------------------------------------------------------------------

    def type_of(self, aval: Any) -> ir.Type:
        """The MLIR type of an abstract value; those of ours name theirs in `mlir_type`."""
        own = getattr(aval, "mlir_type", None)
        if own is not None:
            return ir.Type.parse(own, self.module_context.context)
        shape = getattr(aval, "shape", (None,))
        if not all(type(size) is int for size in shape):
            return self._type_of_array(aval)
        key = (shape, aval.dtype)
        if key not in self._types:
            self._types[key] = self._type_of_array(aval)
        return self._types[key]

    def _type_of_array(self, aval: Any) -> ir.Type:
        element_type(aval)  # refuses what programs cannot hold
        known = [size for size in getattr(aval, "shape", ()) if isinstance(size, int)]
        if any(size >= 2**63 for size in known):  # which MLIR's types cannot say
            size = prod(known) * aval.dtype.itemsize
            raise OutOfMemoryError(construct=aval.str_short(), size=size)
        return jax_compat.type_of_aval(self.module_context, aval)

    def element_type_of(self, aval: Any) -> ir.Type:
        """The signless element type of an array."""
        return ir.RankedTensorType(signless_type(self.type_of(aval))).element_type

    def value(self, value: Value) -> ir.Value:
        """The MLIR value of a value that may be lazy."""
        return value if isinstance(value, ir.Value) else value.materialise()

    def typed(self, value: ir.Value, aval: Any) -> ir.Value:
        """The value under the exact type of an abstract value."""
        return retyped(value, self.type_of(aval))

    def constant(self, value: Any, aval: Any = None) -> ir.Value:
        """A constant of any type that JAX can embed, as a tensor."""
        return jax_compat.constant_value(value, aval)

    # --- dimensions ------------------------------------------------------------------------------

    def number(self, dimension: Any) -> ir.Value:
        """The value of a dimension expression (or number), of 64 bits; may be negative."""
        return self.dimensions.number(dimension)

    def vector(self, dimensions: Sequence[Any]) -> ir.Value:
        """Expressions or numbers as one vector, `tensor<k x i64>`."""
        return self.dimensions.shape_tensor([self.dimensions.tensor(own) for own in dimensions])

    def shape(self, aval: Any, first: int | ir.Value | None = None) -> ir.Value:
        """The sizes of an array as one vector; none is negative. `first`, if that is at hand."""
        sizes = [
            size if isinstance(size, int) else self.dimensions.size_number(size)
            for size in aval.shape
        ]
        return self.dimensions.shape_tensor(sizes if first is None else [first, *sizes[1:]])

    @contextmanager
    def region(self, block: ir.Block) -> Generator[None]:
        """Emit at the end of a block; dimension symbols defined inside stay inside."""
        with ir.InsertionPoint(block), self.dimensions.only(self.dimensions.known):
            yield

    # --- jaxprs ----------------------------------------------------------------------------------

    def lower_jaxpr(self, jaxpr: Any, operands: Sequence[Value]) -> list[Value]:
        """Lower a ClosedJaxpr (or an open one without constants) in place."""
        inner = getattr(jaxpr, "jaxpr", jaxpr)
        constants: Sequence[Any] = getattr(jaxpr, "consts", ())
        values = [
            self.constant(constant, variable.aval)
            for constant, variable in zip(constants, inner.constvars, strict=True)
        ]
        return self._lower_open(inner, values, operands)

    def lower_equation(self, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
        """Lower a single equation, say one that a rule has made of another."""
        return self._lower_equation(self, equation, operands)

    def lower_inline(
        self, jaxpr: Any, constants: Sequence[ir.Value], operands: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """The same for JAX's rules (`jax_compat.Walker`), which deal in MLIR values only."""
        with self.counts.paused():
            return [self.value(result) for result in self._lower_open(jaxpr, constants, operands)]

    def _lower_open(
        self, jaxpr: Any, constants: Sequence[Value], operands: Sequence[Value]
    ) -> list[Value]:
        environment: dict[Any, Value] = {}

        def read(atom: Any) -> Value:
            if hasattr(atom, "val"):
                return Literal(atom.val, lambda: self.constant(atom.val, atom.aval))
            return environment[atom]

        def write(variable: Any, value: Value) -> None:
            if isinstance(value, ir.Value) or self.dimensions.is_bound(variable):
                value = self.typed(self.value(value), variable.aval)
            environment[variable] = value
            self.dimensions.define(variable, value)

        for variable, value in zip(jaxpr.constvars, constants, strict=True):
            write(variable, value)
        for variable, value in zip(jaxpr.invars, operands, strict=True):
            write(variable, value)
        for equation in self._equations_of(jaxpr):
            deliver_signals()
            results = self.lower_one(equation, [read(atom) for atom in equation.invars])
            for variable, result in zip(equation.outvars, results, strict=True):
                write(variable, result)
        return [read(atom) for atom in jaxpr.outvars]

    def lower_one(self, jax_equation: Any, operands: Sequence[Value]) -> Sequence[Value]:
        """Lower an equation of a jaxpr at the current insertion point; the results in order."""
        equation = _equation(jax_equation)
        with jax_compat.equation_manager(jax_equation), self.counts.one(jax_equation):
            shared = self.shared_bodies.key_of(equation.params)
            if shared is None:
                return self._lower_equation(self, equation, operands)
            return self._lower_shared(shared, equation, operands)

    def _lower_shared(
        self, key: str, equation: Equation, operands: Sequence[Value]
    ) -> Sequence[Value]:
        """Call the function that computes what equal circuits or control flow compute.

        Equations without a line of the user's count as on that of the call, so the line is part of
        what calls have in common.
        """
        with self.failures.at_line_of(equation.source_info) as span:
            return call_function(
                self,
                (key, span),
                lambda values: self._lower_equation(self, equation, values),
                operands,
                equation.avals_in,
            )

    def _equations_of(self, jaxpr: Any) -> Sequence[Any]:
        """The equations of a jaxpr, rewritten; kept, as they are counted by their identity."""
        known = self._rewritten.get(id(jaxpr))
        if known is not None:
            return known[1]
        equations = equations_to_lower(jaxpr, self.dimensions.is_bound)
        if equations is not jaxpr.eqns:
            self._rewritten[id(jaxpr)] = jaxpr, equations
        return equations

    def lower_function(
        self, function: Callable[..., Any], avals: Sequence[Any], operands: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Trace a JAX function (which returns a tuple) and lower it in place."""
        results = jax_compat.lower_function_with_jax(self.module_context, function, avals, operands)
        return list(results)

    def dimension_tensor(self, dimension: Any) -> int | ir.Value:
        """For JAX's rules (`jax_compat.Walker`)."""
        return self.dimensions.tensor(dimension)

    def shape_tensor(self, sizes: Sequence[int | ir.Value]) -> ir.Value:
        """For JAX's rules (`jax_compat.Walker`)."""
        return self.dimensions.shape_tensor(sizes)

    # --- attempts --------------------------------------------------------------------------------

    def undoing(self) -> Callable[[], None]:
        """What forgets all that is emitted from here on, but for the operations themselves."""
        sites, callbacks = len(self.failures.sites), len(self.callbacks)
        fallible, functions = self.failures.fallible, len(self.functions)

        def undo() -> None:
            del self.failures.sites[sites:]
            del self.callbacks[callbacks:]
            self.failures.fallible = fallible
            for key in list(self.functions)[functions:]:
                self.functions.pop(key).operation.erase()

        return undo


def _equation(equation: Any) -> Equation:
    """Our view of an equation of a jaxpr."""
    return Equation(
        primitive=equation.primitive,
        avals_in=tuple(atom.aval for atom in equation.invars),
        avals_out=tuple(variable.aval for variable in equation.outvars),
        params=equation.params,
        source_info=equation.source_info,
        effects=equation.effects,
        jaxpr_context=equation.ctx,
    )
