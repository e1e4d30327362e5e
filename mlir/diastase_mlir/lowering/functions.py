"""Functions that lowering defines in the module: what is computed in several places, emitted once.

    func.func private @diastase_function_0(%x: tensor<f64>, %a: tensor<3xf64>) -> tensor<f64>

`call_function` calls the function of a key, which the first call of the key defines. In: a key that
equal computations share, what emits the body, operands with their types. Out: results, as the body
gives them. A body writes to no array that it is given.

The trap: the body must not use values of the program around it, such as sizes; and a call of a body
that may fail counts as an operation that may, so that loops around it watch for errors.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from diastase_mlir.emit.operations import (
    create,
    index_type,
    integer_type,
    scalar_constant,
)
from diastase_mlir.emit.tensors import as_index, box, unbox
from diastase_mlir.jax_internals import ir
from diastase_mlir.lowering.imports import call
from diastase_mlir.lowering.registry import Value
from diastase_runtime.abi import ELEMENT_FUNCTION, ON_CALLING_THREAD

if TYPE_CHECKING:
    from diastase_mlir.lowering.context import LoweringContext

Body = Callable[[Sequence[ir.Value]], Sequence[Value]]
"""From operands to results, emitted at the current insertion point."""


@dataclass(frozen=True)
class Function:
    """A function of the module."""

    symbol: str
    operation: ir.Operation
    results: Sequence[ir.Type]
    fallible: int
    """How many operations in it may record an error."""
    equations: Sequence[set[str]]
    """For each equation of the program in it, what computes it."""


class Functions:
    """All functions of a module that `call_function` defined, in order."""

    def __init__(self) -> None:
        self._functions: dict[Hashable, Function] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._functions)

    def new_number(self) -> int:
        """A number for a function that may contain calls of others that are yet to be defined."""
        return next(self._numbers)

    def get(self, key: Hashable) -> Function | None:
        """The function of a key, if it is defined."""
        return self._functions.get(key)

    def add(self, key: Hashable, function: Function) -> None:
        """Note a function that was defined."""
        self._functions[key] = function

    def forget_since(self, number: int) -> None:
        """Erase those defined after the first so many; nothing calls them any more."""
        for key in list(self._functions)[number:]:
            self._functions.pop(key).operation.erase()


def call_function(
    context: "LoweringContext",
    key: Hashable,
    body: Body,
    operands: Sequence[Value],
    avals: Sequence[Any],
) -> list[ir.Value]:
    """Call the function that computes `body`; `avals` are the types of the operands."""
    values = [
        context.typed(context.value(operand), aval)
        for operand, aval in zip(operands, avals, strict=True)
    ]
    types = [value.type for value in values]
    function = context.functions.get((key, *types))
    if function is None:
        function = _define(context, body, types)
        context.functions.add((key, *types), function)
    else:
        context.failures.fallible += function.fallible
        context.counts.again(function)
    return call(function.symbol, values, function.results)


Element = Callable[[ir.Value, Sequence[Any], Sequence[ir.Value], Sequence[ir.Value]], None]
"""From the number of an element, the sizes of the batch and its operands to the results, which it
puts into its places in the outputs."""


@dataclass(frozen=True)
class Batch:
    """Of how many elements a batch is, and how the engine is to go about it."""

    count: int | ir.Value
    sizes: Sequence[int | ir.Value]
    wires: int
    """Of the largest register of an element."""


def call_for_each(
    context: "LoweringContext",
    body: Element,
    batch: Batch,
    operands: Sequence[ir.Value],
    avals: Sequence[Any],
    outputs: Sequence[ir.Value],
) -> None:
    """Define the function of an element, whose results go to places in `outputs`, and call it.

    See `batches`; the outputs are memory, an axis for the element first.
    """
    known = context.dimensions.known
    unknown = [size for size in batch.sizes if isinstance(size, ir.Value)]
    values = [context.typed(operand, aval) for operand, aval in zip(operands, avals, strict=True)]
    numbers = [*map(unbox, known.values()), *unknown]
    symbol = f"{ELEMENT_FUNCTION}{context.functions.new_number()}"
    types = [integer_type(64), integer_type(64)]
    arguments = [value.type for value in (*numbers, *values, *outputs)]
    operation, block = _empty_function(context, symbol, [*types, *arguments])
    number, _, *rest = block.arguments
    calls = context.imports.counts.get("callback", 0)
    counted, fallible = len(context.counts), context.failures.fallible
    with context.region(block):
        given, rest = rest[: len(numbers)], rest[len(numbers) :]
        inside = iter(given[len(known) :])
        sizes = [next(inside) if isinstance(size, ir.Value) else size for size in batch.sizes]
        with context.dimensions.only(dict(zip(known, map(box, given), strict=False))):
            elements = list(rest[: len(values)])
            place = create("arith.index_cast", [index_type()], [number]).result
            body(place, sizes, elements, rest[len(values) :])
        create("func.return", [], [])
    equations = context.counts.since(counted)
    function = Function(symbol, operation, [], context.failures.fallible - fallible, equations)
    context.functions.add(symbol, function)
    on_this = context.imports.counts.get("callback", 0) > calls
    wires = ON_CALLING_THREAD if on_this else batch.wires
    number = create("arith.index_cast", [integer_type(64)], [as_index(batch.count)]).result
    leading = [number, scalar_constant(integer_type(64), wires)]
    call(symbol, [*leading, *numbers, *values, *outputs])


def _define(context: "LoweringContext", body: Body, arguments: Sequence[ir.Type]) -> Function:
    """Emit a function and what it returns."""
    symbol = f"diastase_function_{context.functions.new_number()}"
    operation, block = _empty_function(context, symbol, arguments)
    values = list(block.arguments)
    counted, fallible = len(context.counts), context.failures.fallible
    with context.region(block), context.dimensions.only({}):
        results = [context.value(result) for result in body(values)]
        create("func.return", [], results)
    types = [result.type for result in results]
    function_type = ir.FunctionType.get([argument.type for argument in block.arguments], types)
    operation.attributes["function_type"] = ir.TypeAttr.get(function_type)
    equations = context.counts.since(counted)
    return Function(symbol, operation, types, context.failures.fallible - fallible, equations)


def _empty_function(
    context: "LoweringContext", symbol: str, arguments: Sequence[ir.Type]
) -> tuple[ir.Operation, ir.Block]:
    """A function without results so far, and its block."""
    attributes = {
        "sym_name": ir.StringAttr.get(symbol),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(arguments), [])),
        "sym_visibility": ir.StringAttr.get("private"),
    }
    with ir.InsertionPoint.at_block_begin(context.module_context.module.body):
        operation = create("func.func", [], [], attributes, regions=1)
    locations = [ir.Location.unknown()] * len(arguments)
    return operation, operation.regions[0].blocks.append(*arguments, arg_locs=locations)
