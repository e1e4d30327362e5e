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
from typing import Any

from diastase_mlir.emit.operations import (
    create,
)
from diastase_mlir.jax_compat import ir
from diastase_mlir.lowering.core.registry import Value

FUNCTION = "diastase_function_"
"""With what the names of functions begin, but for those of elements of a batch."""

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
    context: Any,
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
        function = define(context, types, body)
        context.functions.add((key, *types), function)
    else:
        context.failures.fallible += function.fallible
        context.counts.again(function)
    callee = {"callee": ir.FlatSymbolRefAttr.get(function.symbol)}
    return list(create("func.call", function.results, values, callee).results)


def define(
    context: Any,
    arguments: Sequence[ir.Type],
    body: Body,
    prefix: str = FUNCTION,
) -> Function:
    """Emit a function that takes such arguments, and returns what the body gives."""
    symbol = f"{prefix}{context.functions.new_number()}"
    operation, block = _empty_function(context, symbol, arguments)
    counted, fallible = len(context.counts), context.failures.fallible
    with context.region(block), context.dimensions.only({}):
        results = [context.value(result) for result in body(list(block.arguments))]
        create("func.return", [], results)
    types = [result.type for result in results]
    function_type = ir.FunctionType.get([argument.type for argument in block.arguments], types)
    operation.attributes["function_type"] = ir.TypeAttr.get(function_type)
    equations = context.counts.since(counted)
    return Function(symbol, operation, types, context.failures.fallible - fallible, equations)


def _empty_function(
    context: Any, symbol: str, arguments: Sequence[ir.Type]
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
