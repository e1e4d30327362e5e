"""Rules for functions of the module that others call: numbers travel as scalars, too.

    func.func private @f(%x: tensor<f64>, %a: tensor<3xf64>) -> tensor<f64>
    ->
    func.func private @f(%x: f64, %a: tensor<3xf64>) -> f64

So no call allocates for a number. What is called from outside keeps the types that it has.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.operations import callee_of, name_of
from diastase_mlir.emit.operations import create
from diastase_mlir.passes.tensors.scalarize.conversion import Conversion, Rule, Value
from diastase_mlir.passes.tensors.scalarize.regions import (
    carried,
    carried_type,
    take_arguments,
    uncarried,
)


def inner_functions(module: ir.Module) -> frozenset[str]:
    """The names of the functions that only the module itself calls."""
    return frozenset(
        name_of(operation)
        for operation in (view.operation for view in module.body.operations)
        if operation.name == "func.func" and is_inner(operation)
    )


def is_inner(function: Any) -> bool:
    """Whether a function has a body that only the module itself calls."""
    attributes = function.attributes
    if "sym_visibility" not in attributes or not len(function.regions[0].blocks):
        return False
    return ir.StringAttr(attributes["sym_visibility"]).value == "private"


def take_scalars(conversion: Conversion, function: Any) -> None:
    """Convert a function that only the module itself calls, and say so in its type."""
    block, *others = function.regions[0].blocks
    kind: Any = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    operations, arguments = list(block.operations), list(block.arguments)
    with function.location:
        for argument in arguments:
            block.add_argument(carried_type(argument.type), argument.location)
        with ir.InsertionPoint.at_block_begin(block):
            take_arguments(conversion, arguments, list(block.arguments)[len(arguments) :])
        conversion.operations(operations)
        for other in others:
            conversion.block(other)
        conversion.erase()
        for _ in arguments:
            block.erase_argument(0)
        taken, given = ([*map(carried_type, types)] for types in (kind.inputs, kind.results))
        new = ir.FunctionType.get(taken, given)
        function.attributes["function_type"] = ir.TypeAttr.get(new)


def _call(conversion: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    if callee_of(operation) not in conversion.inner_functions:
        return None
    types = [result.type for result in operation.results]
    taken = [carried(value) for value in operands]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    kinds = [carried_type(kind) for kind in types]
    results = create(operation.name, kinds, taken, attributes).results
    return [uncarried(own, kind) for own, kind in zip(results, types, strict=True)]


def _return(_: Conversion, operation: Any, operands: list[Value]) -> Sequence[Value] | None:
    if is_inner(operation.parent.operation):
        operands[:] = [carried(value) for value in operands]
    return None


RULES: dict[str, Rule] = {"func.call": _call, "func.return": _return}
