"""What a lowering rule can ask for: types, values, sizes, nested jaxprs, error sites, the host.

One `LoweringContext` serves one program. All of its methods emit at the current insertion point.
What it keeps:

- where each dimension symbol has its value (an `index`); `region()` forgets, on leaving a region
  of the IR, the symbols defined inside it;
- the sites at which compiled code may fail, the host callbacks, the functions imported;
- `fallible`: how many operations emitted so far may record an error, by which a `while` loop
  knows whether its condition has to watch for one.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from diastase_mlir import jax_internals
from diastase_mlir.diagnostics import span_of
from diastase_mlir.jax_internals import HookedModuleContext, ir
from diastase_mlir.lowered import EQUATION_KINDS, HostCallback
from diastase_mlir.lowering.array_types import array_type
from diastase_mlir.lowering.dimensions import Dimensions
from diastase_mlir.lowering.functions import Function, Functions
from diastase_mlir.lowering.operations import (
    compare_integers,
    create,
    integer_type,
    scalar_constant,
    signless_type,
    to_type,
)
from diastase_mlir.lowering.registry import Equation, Read, Several, Value, finders
from diastase_mlir.lowering.shared_circuits import SharedCircuits
from diastase_mlir.program import DimensionBindings
from diastase_runtime.abi import (
    ABANDON_FUNCTION,
    LEAVE_FUNCTION,
    CallContext,
    ErrorCode,
    ImportedLibrary,
    Site,
    import_symbol,
)
from diastase_runtime.errors import Span

EquationLowering = Callable[["LoweringContext", Equation, Sequence[Value]], Sequence[Value]]
Step = Callable[[Any, Read], Sequence[Value]]
"""Lowers an equation of a jaxpr, perhaps with some before it."""


@dataclass(frozen=True)
class Snapshot:
    """Lengths and contents of a context's records at some moment."""

    sites: int
    callbacks: int
    fallible: int
    imported: frozenset[str]
    functions: int


class LoweringContext:
    """State of the lowering of one program, and the services rules use."""

    def __init__(
        self,
        module_context: HookedModuleContext,
        bindings: DimensionBindings,
        lower_equation: EquationLowering,
        shared_circuits: SharedCircuits,
    ):
        self.module_context = module_context
        self.dimensions = Dimensions(bindings)
        self.sites: list[Site] = []
        self._site_numbers: dict[Site, int] = {}
        self.callbacks: list[HostCallback] = []
        self.uses_engine = False
        self.circuit_passes: Sequence[Any] = ()
        """What the circuit being lowered is to be given (`passes/transform_circuits.py`)."""
        self.circuit_passes_seen: set[str] = set()
        self.shared_circuits = shared_circuits
        self.functions = Functions()
        self.fallible = 0
        self._types: dict[Any, ir.Type] = {}
        """Of arrays of known sizes."""
        self.span: Span | None = None
        """The user's line of the innermost equation being lowered that has one."""
        self._lower_equation = lower_equation
        self._imported: dict[str, ir.Operation] = {}
        self._call_context: ir.Value | None = None
        self._of_the_program = True
        self._has_inner = False
        self._imports: dict[str, int] = {}
        """How often a function of each library was asked for."""
        self.equations_counted: dict[int, set[str]] = {}
        """For each equation of the program (not those that rules make), what computes it."""
        self._counted_again: list[Function] = []

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
        array_type(aval)  # refuses what programs cannot hold
        return jax_internals.type_of_aval(self.module_context, aval)

    def element_type_of(self, aval: Any) -> ir.Type:
        """The signless element type of an array."""
        return ir.RankedTensorType(signless_type(self.type_of(aval))).element_type

    def value(self, value: Value) -> ir.Value:
        """The MLIR value of a value that may be lazy."""
        return value if isinstance(value, ir.Value) else value.materialise()

    def typed(self, value: ir.Value, aval: Any) -> ir.Value:
        """The value under the exact type of an abstract value."""
        return to_type(value, self.type_of(aval))

    def constant(self, value: Any, aval: Any = None) -> ir.Value:
        """A constant of any type that JAX can embed, as a tensor."""
        return jax_internals.constant_value(value, aval)

    # --- dimensions ------------------------------------------------------------------------------

    def dimension(self, dimension: Any) -> ir.Value:
        """The value of a dimension expression (or number) as an `index`; may be negative."""
        return self.dimensions.value(dimension)

    def size(self, dimension: Any) -> int | ir.Value:
        """The same as a size: a number if known, else an `index` that is never negative."""
        return self.dimensions.size(dimension)

    @contextmanager
    def region(self, block: ir.Block) -> Generator[None]:
        """Emit at the end of a block; dimension symbols defined inside stay inside."""
        with ir.InsertionPoint(block), self.dimensions.scope():
            yield

    @contextmanager
    def marking_circuits(self, passes: Sequence[Any]) -> Generator[None]:
        """Lower a circuit that is to be given these passes."""
        outer, self.circuit_passes = self.circuit_passes, passes
        self.circuit_passes_seen.update(call.name for call in passes)
        try:
            yield
        finally:
            self.circuit_passes = outer

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

    @contextmanager
    def at_line_of(self, equation: Equation) -> Generator[Span | None]:
        """Lower an equation; one without a line of the user's counts as on the enclosing one."""
        outer = self.span
        self.span = span_of(equation.source_info) or outer
        try:
            yield self.span
        finally:
            self.span = outer

    def lower_equation(self, equation: Equation, operands: Sequence[Value]) -> Sequence[Value]:
        """Lower a single equation, say one that a rule has made of another."""
        return self._lower_equation(self, equation, operands)

    def lower_inline(
        self, jaxpr: Any, constants: Sequence[ir.Value], operands: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """The same for JAX's rules (`jax_internals.Walker`), which deal in MLIR values only."""
        outer, self._of_the_program = self._of_the_program, False
        try:
            return [self.value(result) for result in self._lower_open(jaxpr, constants, operands)]
        finally:
            self._of_the_program = outer

    def _lower_open(
        self, jaxpr: Any, constants: Sequence[Value], operands: Sequence[Value]
    ) -> list[Value]:
        environment: dict[Any, Value] = {}

        def read(atom: Any) -> Value:
            if hasattr(atom, "val"):  # a literal
                return self.constant(atom.val, atom.aval)
            return environment[atom]

        def write(variable: Any, value: Value) -> None:
            if isinstance(value, ir.Value):
                value = self.typed(value, variable.aval)
            environment[variable] = value
            self.dimensions.define(variable, value)

        for variable, value in zip(jaxpr.constvars, constants, strict=True):
            write(variable, value)
        for variable, value in zip(jaxpr.invars, operands, strict=True):
            write(variable, value)
        together = self._lowered_together(jaxpr)
        for position, equation in enumerate(jaxpr.eqns):
            step = together.get(position, self._lower_one)
            if step is not None:
                results = step(equation, read)
                for variable, result in zip(equation.outvars, results, strict=True):
                    write(variable, result)
        return [read(atom) for atom in jaxpr.outvars]

    def lower_one(
        self,
        jax_equation: Any,
        operands: Sequence[Value],
        avals: tuple[Sequence[Any], Sequence[Any]] | None = None,
    ) -> Sequence[Value]:
        """Lower an equation of a jaxpr at the current insertion point; the results in order.

        `avals`: the types of operands and results, where it is applied to others than its own.
        """
        equation = _equation(jax_equation)
        if avals is not None:
            equation = replace(equation, avals_in=avals[0], avals_out=avals[1])
        with jax_internals.equation_manager(jax_equation), self._counting(jax_equation):
            return self._lower_equation(self, equation, operands)

    def _lower_one(self, jax_equation: Any, read: Read) -> Sequence[Value]:
        return self.lower_one(jax_equation, [read(atom) for atom in jax_equation.invars])

    def _lowered_together(self, jaxpr: Any) -> dict[int, Step | None]:
        """Equations that are lowered several at once, by position: by the last one's step."""
        steps: dict[int, Step | None] = {}
        for find in finders():
            for several in find(self, jaxpr):
                equations = [jaxpr.eqns[position] for position in several.positions]
                steps.update(dict.fromkeys(several.positions))
                steps[several.positions[-1]] = partial(self._lower_several, several, equations)
        return steps

    def _lower_several(
        self, several: Several, equations: Sequence[Any], last: Any, read: Read
    ) -> Sequence[Value]:
        if self._of_the_program:
            self.equations_counted.update({id(equation): set() for equation in equations})
            self._has_inner = True
        return several.lower(read)

    @contextmanager
    def _counting(self, equation: Any) -> Generator[None]:
        """Note what is lowered inside as one equation, unless there are equations within it."""
        if not self._of_the_program:
            yield
            return
        callbacks, imports, self._has_inner = len(self.callbacks), dict(self._imports), False
        yield
        if not self._has_inner:
            kinds = self.equations_counted.setdefault(id(equation), set())
            kinds |= {name for name, count in self._imports.items() if count > imports.get(name, 0)}
            if len(self.callbacks) > callbacks:
                kinds.add("callback")
        self._has_inner = True

    def count_again(self, function: Function) -> None:
        """A function is called once more: as if what it consists of stood here."""
        self.fallible += function.fallible
        if self._of_the_program:
            self._counted_again.append(function)
            self._has_inner = True

    def equation_kinds(self) -> dict[str, int]:
        """How many equations the program has of each of `lowered.EQUATION_KINDS`."""
        counts: dict[str, int] = dict.fromkeys(EQUATION_KINDS, 0)
        again = (kinds for function in self._counted_again for kinds in function.equations)
        for kinds in chain(self.equations_counted.values(), again):
            counts[next((kind for kind in EQUATION_KINDS if kind in kinds), "native")] += 1
        return counts

    def lower_function(
        self, function: Callable[..., Any], avals: Sequence[Any], operands: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Trace a JAX function (which returns a tuple) and lower it in place."""
        results = jax_internals.lower_function_with_jax(
            self.module_context, function, avals, operands
        )
        return list(results)

    def dimension_tensor(self, dimension: Any) -> int | ir.Value:
        """For JAX's rules (`jax_internals.Walker`)."""
        return self.dimensions.tensor(dimension)

    def shape_tensor(self, sizes: Sequence[int | ir.Value]) -> ir.Value:
        """For JAX's rules (`jax_internals.Walker`)."""
        return self.dimensions.shape_tensor(sizes)

    # --- errors at run time ----------------------------------------------------------------------

    @property
    def call_context(self) -> ir.Value:
        """The state of the call: the entry's first argument, a `!llvm.ptr`."""
        assert self._call_context is not None, "no entry function yet"
        return self._call_context

    @call_context.setter
    def call_context(self, value: ir.Value) -> None:
        self._call_context = value

    def site(self, construct: str, source_info: Any) -> ir.Value:
        """An `i64` that names this place in the user's program; what follows may fail there."""
        return scalar_constant(integer_type(64), self.site_number(construct, source_info))

    def site_at(self, construct: str, span: Span | None) -> ir.Value:
        """The same for a place that is known."""
        return scalar_constant(integer_type(64), self._number_of_site(construct, span))

    def site_number(self, construct: str, source_info: Any) -> int:
        """The same as a number, for operations that hold it as an attribute."""
        return self._number_of_site(construct, span_of(source_info) or self.span)

    def _number_of_site(self, construct: str, span: Span | None) -> int:
        file, line, function = (span.file, span.line, span.function) if span else ("", 0, "")
        site = Site(file, line, function, construct)
        self.fallible += 1
        number = self._site_numbers.get(site, len(self.sites))
        if self.sites[number : number + 1] != [site]:  # new, or taken back by a rollback
            number = self._site_numbers[site] = len(self.sites)
            self.sites.append(site)
        return number

    def no_error(self) -> ir.Value:
        """An `i1`: whether the call has recorded no error so far."""
        code = create("llvm.load", [integer_type(64)], [self._field("code")]).result
        return compare_integers("eq", code, scalar_constant(integer_type(64), ErrorCode.NONE))

    def record_error(
        self, failed: ir.Value, code: ErrorCode, site: ir.Value, details: Sequence[ir.Value] = ()
    ) -> None:
        """Record an error if `failed` (an `i1`) and none is recorded yet; details are `i64`."""
        guard = create("arith.andi", [integer_type(1)], [failed, self.no_error()]).result
        operation = create("scf.if", [], [guard], regions=2)
        with ir.InsertionPoint(operation.regions[0].blocks.append()):
            number = scalar_constant(integer_type(64), code)
            create("llvm.store", [], [number, self._field("code")])
            create("llvm.store", [], [site, self._field("site")])
            for position, detail in enumerate(details):
                create("llvm.store", [], [detail, self._field("detail", position)])
            create("scf.yield", [], [])

    def leave(self, *, at_start: bool) -> None:
        """Abandon the call at once; an error is recorded. `at_start`: nothing is allocated yet."""
        function = LEAVE_FUNCTION if at_start else ABANDON_FUNCTION
        self._declare(function, [], [], {})
        self.call(function, [])

    def _field(self, name: str, position: int = 0) -> ir.Value:
        """Address of a field of the call context, or of one of its 64-bit elements."""
        offset = getattr(CallContext, name).offset + 8 * position
        attributes = {
            "rawConstantIndices": ir.Attribute.parse(f"array<i32: {offset}>"),
            "elem_type": ir.TypeAttr.get(integer_type(8)),
        }
        pointer = self.call_context
        return create("llvm.getelementptr", [pointer.type], [pointer], attributes).result

    # --- attempts --------------------------------------------------------------------------------

    def snapshot(self) -> "Snapshot":
        """What to go back to if what is emitted from here on is erased."""
        return Snapshot(
            len(self.sites),
            len(self.callbacks),
            self.fallible,
            frozenset(self._imported),
            len(self.functions),
        )

    def restore(self, snapshot: "Snapshot") -> None:
        """Forget everything since the snapshot; the operations are the caller's to erase."""
        del self.sites[snapshot.sites :]
        del self.callbacks[snapshot.callbacks :]
        self.fallible = snapshot.fallible
        self.functions.forget_since(snapshot.functions)
        for symbol in self._imported.keys() - snapshot.imported:
            self._imported.pop(symbol).erase()

    # --- functions outside of the module ---------------------------------------------------------

    def import_function(
        self,
        library: ImportedLibrary,
        name: str,
        operands: Sequence[ir.Type],
        results: Sequence[ir.Type] = (),
        *,
        c_interface: bool = False,
    ) -> str:
        """Declare an imported function, once, and return its symbol."""
        symbol = import_symbol(library, name)
        self._imports[library] = self._imports.get(library, 0) + 1
        attributes: dict[str, ir.Attribute] = {}
        if c_interface:
            attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        self._declare(symbol, operands, results, attributes)
        return symbol

    def calls_of(self, library: ImportedLibrary) -> int:
        """How often a function of a library was asked for so far."""
        return self._imports.get(library, 0)

    def _declare(
        self,
        symbol: str,
        operands: Sequence[ir.Type],
        results: Sequence[ir.Type],
        attributes: dict[str, ir.Attribute],
    ) -> None:
        """Declare a function that is defined elsewhere, once."""
        if symbol in self._imported:
            return
        function_type = ir.FunctionType.get(list(operands), list(results))
        attributes |= {
            "sym_name": ir.StringAttr.get(symbol),
            "function_type": ir.TypeAttr.get(function_type),
            "sym_visibility": ir.StringAttr.get("private"),
        }
        with ir.InsertionPoint.at_block_begin(self.module_context.module.body):
            self._imported[symbol] = create("func.func", [], [], attributes, regions=1)

    def call(
        self, symbol: str, operands: Sequence[ir.Value], results: Sequence[ir.Type] = ()
    ) -> list[ir.Value]:
        """Call a function of the module by its symbol."""
        attributes = {"callee": ir.FlatSymbolRefAttr.get(symbol)}
        return list(create("func.call", results, operands, attributes).results)


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
