"""Calls of Python functions: memory for arguments and results, which the program allocates first.

%r = runtime.callback(%a) {number = 0}    ->    call @diastase_import__callback__0(%state, %site, …)
"""

from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import allocate, as_tensor, filled
from diastase_mlir.emit.operations import (
    create,
    integer_type,
    scalar_constant,
    signless_type,
    to_signless,
    to_type,
)
from diastase_mlir.emit.tensors import Size
from diastase_mlir.passes.tensors.arrays_to_loops.rules import number_in
from diastase_runtime.abi import import_symbol


def call_back(operation: Any, state: ir.Value, declared: dict[str, ir.Type]) -> None:
    """Emit the call of an operation, at its place; `declared`: what the module is to declare."""
    config = ir.DictAttr(operation.attributes["backend_config"])
    number, place, count = (
        ir.IntegerAttr(config[name]).value for name in ("number", "site", "arguments")
    )
    operands = list(operation.operands)
    shapes = iter(operands[count:])
    inputs = [filled(to_signless(argument)) for argument in operands[:count]]
    outputs = [_allocated(result.type, shapes) for result in operation.results]
    site = scalar_constant(integer_type(64), place)
    arguments = [state, site, *inputs, *outputs]
    symbol = import_symbol("callback", str(number))
    kinds = [argument.type for argument in arguments]
    declared[symbol] = ir.FunctionType.get(kinds, [])
    create("func.call", [], arguments, {"callee": ir.FlatSymbolRefAttr.get(symbol)})
    for result, buffer in zip(operation.results, outputs, strict=True):
        result.replace_all_uses_with(to_type(as_tensor(buffer), result.type))


def _allocated(kind: Any, shapes: Any) -> ir.Value:
    sizes: list[Size] = list(kind.shape)
    if not kind.has_static_shape:
        vector = next(shapes)
        sizes = [
            number_in(vector, axis) if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis)
            for axis in range(kind.rank)
        ]
    return allocate(sizes, ir.RankedTensorType(signless_type(kind)).element_type)
