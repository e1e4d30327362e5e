"""Lowering of `parallel_map`: a function for one element, called for all of them.

    func.func private @diastase_element_0(%number: tensor<i64>, %x: tensor<100x3xf64>)
        -> tensor<f64>
    %r = stablehlo.custom_call @diastase.map(%count, %x)
        {called_computations = [@diastase_element_0], backend_config = {arguments = 1, wires = 2}}

The function takes the arrays of all elements, and finds in them what is its own. The QNodes of a
`concurrent_qnodes` are a function each, and one `diastase.concurrent` calls them all.
`passes/batches_to_calls` gives results memory, which each element writes its part of.

The trap: a function sees nothing of the program around it, so sizes known outside are arguments.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import compress
from typing import Any

import jax.numpy as jnp
import numpy as np

from diastase_mlir.emit.library_calls import CONCURRENT, HAS_SIDE_EFFECT, MAP, custom_call
from diastase_mlir.emit.operations import (
    array_attribute,
    binary,
    create,
    enumeration,
    integer_constant,
    integer_type,
    number_type,
)
from diastase_mlir.emit.tensors import DYNAMIC, element_type, tensor_type
from diastase_mlir.jax_compat import equations_in, ir, physical_aval
from diastase_mlir.lowering.core.context import LoweringContext
from diastase_mlir.lowering.core.functions import FUNCTION, Function, define
from diastase_mlir.lowering.core.registry import Equation, Value, lowers
from diastase_mlir.lowering.elementwise.moves import reshaped
from diastase_runtime.abi import ELEMENT_FUNCTION, ON_CALLING_THREAD


@lowers("parallel_map", keys=True)
def lower_parallel_map(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> Sequence[Value]:
    """A function of an element's number and of all operands, called for each number."""
    if (in_lanes := equation.params.get("in_lanes")) is not None:
        return context.lower_jaxpr(in_lanes.jaxpr, operands)
    mapped, jaxpr = equation.params["mapped"], equation.params["jaxpr"]
    sizes = list(_batch_sizes(equation.avals_in, mapped))
    results = [physical_aval(aval) for aval in equation.avals_out]
    if 0 in sizes:
        return [_nothing(context, aval) for aval in results]
    elements = [physical_aval(aval) for aval in jaxpr.in_avals]

    def element(number: ir.Value, *arrays: ir.Value) -> Sequence[Value]:
        places = _places(number, [context.number(size) for size in sizes[1:]])
        values = [
            _element(context, array, aval, list(compress(places, flags)))
            for array, aval, flags in zip(arrays, elements, mapped, strict=True)
        ]
        return context.lower_jaxpr(jaxpr, values)

    known = context.dimensions.known
    number = number_type(integer_type(64))
    typed = _typed(context, operands, equation.avals_in)
    function, wires = _function(context, jaxpr, element, [number], known, typed, ELEMENT_FUNCTION)
    unknown = [
        context.dimensions.size_number(size)
        for aval in results
        for size in aval.shape[len(sizes) :]
        if not isinstance(size, int)
    ]
    if all(isinstance(size, int) for size in sizes):
        first = math.prod(sizes)
        count = integer_constant(first)
    else:
        first = DYNAMIC
        count = reduce(
            partial(binary, "runtime.product"), map(context.dimensions.size_number, sizes)
        )
    kinds = [_with_axis(first, kind) for kind in function.results]
    arguments = [*known.values(), *typed]
    config = {"arguments": len(arguments), "wires": wires}
    values = _custom_call(MAP, [function], [count, *arguments, *unknown], kinds, config)
    return [
        value if len(sizes) == 1 else _with_shape(context, value, aval)
        for value, aval in zip(values, results, strict=True)
    ]


@lowers("concurrent_qnodes", keys=True)
def lower_concurrent_qnodes(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> Sequence[ir.Value]:
    """A function for each QNode, all of them called at once."""
    known = context.dimensions.known
    given = iter(_typed(context, operands, equation.avals_in))
    arguments: list[ir.Value] = []
    functions: list[Function] = []
    wires: list[int] = []
    for jaxpr in equation.params["branch_jaxprs"]:
        own = [next(given) for _ in jaxpr.in_avals]
        function, most = _function(
            context, jaxpr, partial(_in_place, context, jaxpr), [], known, own
        )
        functions.append(function)
        wires.append(most)
        arguments += [*known.values(), *own]
    on_this = ON_CALLING_THREAD in wires
    config = {"wires": ON_CALLING_THREAD if on_this else max(wires)}
    kinds = [kind for function in functions for kind in function.results]
    return _custom_call(CONCURRENT, functions, arguments, kinds, config)


def _custom_call(
    target: str,
    functions: Sequence[Function],
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    config: dict[str, int],
) -> list[ir.Value]:
    """A call of functions of the module by way of something else."""
    symbols = [ir.FlatSymbolRefAttr.get(function.symbol) for function in functions]
    numbers = {name: enumeration(number) for name, number in config.items()}
    called = {
        "called_computations": ir.ArrayAttr.get(symbols),
        HAS_SIDE_EFFECT: ir.BoolAttr.get(True),
    }
    return custom_call(target, results, operands, numbers, called)


def _in_place(context: LoweringContext, jaxpr: Any, *operands: ir.Value) -> Sequence[Value]:
    return context.lower_jaxpr(jaxpr, operands)


def _function(
    context: LoweringContext,
    jaxpr: Any,
    body: Callable[..., Sequence[Value]],
    leading: Sequence[ir.Type],
    known: dict[str, ir.Value],
    operands: Sequence[ir.Value],
    prefix: str = FUNCTION,
) -> tuple[Function, int]:
    """A function of leading arguments, of all sizes that are known here, and of these operands.

    Also gives the number of wires of its largest register, or that it calls Python.
    """

    def emit(arguments: Sequence[ir.Value]) -> Sequence[Value]:
        first, last = len(leading), len(leading) + len(known)
        sizes = dict(zip(known, arguments[first:last], strict=True))
        with context.dimensions.only(sizes):
            results = body(*arguments[:first], *arguments[last:])
            return _typed(context, results, jaxpr.out_avals)

    calls = context.imports["callback"]
    kinds = [*leading, *(value.type for value in (*known.values(), *operands))]
    function = define(context, kinds, emit, prefix)
    context.functions[function.symbol] = function
    on_this = context.imports["callback"] > calls
    return function, ON_CALLING_THREAD if on_this else _wires(jaxpr)


def _typed(
    context: LoweringContext, values: Sequence[Value], avals: Sequence[Any]
) -> list[ir.Value]:
    return [
        context.typed(context.value(value), aval) for value, aval in zip(values, avals, strict=True)
    ]


def _nothing(context: LoweringContext, aval: Any) -> ir.Value:
    """An array without elements."""
    if all(isinstance(size, int) for size in aval.shape):
        return context.constant(np.zeros(aval.shape, aval.dtype), aval)
    return context.lower_function(lambda: (jnp.zeros(aval.shape, aval.dtype),), [], [])[0]


def _batch_sizes(avals: Sequence[Any], mapped: Sequence[Sequence[bool]]) -> Iterator[Any]:
    """The size of each axis of the batch, from an operand that has it."""
    for axis in range(len(mapped[0])):
        operand = next(position for position, flags in enumerate(mapped) if flags[axis])
        yield avals[operand].shape[sum(mapped[operand][:axis])]


def _places(number: ir.Value, sizes: Sequence[ir.Value]) -> list[ir.Value]:
    """Along each axis of the batch, of which all but the first have these sizes.

    The last one's changes fastest.
    """
    places: list[ir.Value] = []
    for size in reversed(sizes):
        places.insert(0, binary("runtime.modulo", number, size))
        number = binary("runtime.floor_divide", number, size)
    return [number, *places]


def _element(
    context: LoweringContext, array: ir.Value, aval: Any, places: Sequence[ir.Value]
) -> ir.Value:
    """The part of an array at a place along its first axes, an array of this type."""
    if not places:
        return array
    if 0 in aval.shape:
        return _nothing(context, aval)
    shape, count = tensor_type(array).shape, len(places)
    kind = context.type_of(aval)
    if tensor_type(array).has_static_shape:
        rest = shape[count:]
        part = ir.RankedTensorType.get([1] * count + rest, element_type(array))
        starts = [*places, *(integer_constant(0) for _ in rest)]
        attributes = {"slice_sizes": array_attribute("i64", part.shape)}
        row = create("stablehlo.dynamic_slice", [part], [array, *starts], attributes).result
        return reshaped(row, rest)
    before, after = [*range(count)], [*range(len(shape) - count)]
    numbers = (
        f"#stablehlo.gather<offset_dims = {after}, collapsed_slice_dims = {before}, "
        f"start_index_map = {before}, index_vector_dim = 0>"
    )
    attributes = {"dimension_numbers": ir.Attribute.parse(numbers)}
    vector = context.dimensions.shape_tensor(places)
    sizes = [*[1] * count, *aval.shape]
    if not all(isinstance(size, int) for size in sizes):
        operands = [array, vector, context.vector(sizes)]
        return create("stablehlo.dynamic_gather", [kind], operands, attributes).result
    attributes["slice_sizes"] = array_attribute("i64", sizes)
    return create("stablehlo.gather", [kind], [array, vector], attributes).result


def _with_axis(size: int, kind: ir.Type) -> ir.Type:
    """The type of an array with one axis more, the first one."""
    own = ir.RankedTensorType(kind)
    return ir.RankedTensorType.get([size, *own.shape], own.element_type)


def _with_shape(context: LoweringContext, array: ir.Value, aval: Any) -> ir.Value:
    """The elements of all axes of a batch under the shape that these give."""
    if all(isinstance(size, int) for size in aval.shape):
        return reshaped(array, aval.shape)
    operands = [array, context.shape(aval)]
    return create("stablehlo.dynamic_reshape", [context.type_of(aval)], operands).result


def _wires(jaxpr: Any) -> int:
    """Of the largest register that is allocated, as far as it is known.

    What is no state vector counts as one of its size: a density matrix with twice as many, less
    one; registers in lanes with those of a lane's number, too.
    """
    allocations = [one for one in equations_in(jaxpr) if one.primitive.name in _ALLOCATIONS]
    return max(map(_size_in_wires, allocations), default=0)


_ALLOCATIONS = frozenset(("allocate_qubits", "lanes_allocate"))


def _size_in_wires(allocation: Any) -> int:
    params = allocation.params
    wires = params["num_wires"] or 0
    if params.get("mixed", False):
        return max(2 * wires - 1, 0)
    return wires + params.get("lanes", 1).bit_length() - 1
