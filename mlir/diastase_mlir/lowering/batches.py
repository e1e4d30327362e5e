"""Lowering of `parallel_map`: a function for one element, called for all of them.

So is that of `concurrent_qnodes`, of which each QNode is an element, with a branch of its own.

    func.func private @diastase_element_0(%context: !llvm.ptr, %number: i64, %wires: i64,
                                          %x: tensor<100x3xf64>, %out: memref<100xf64>)

What is called is the function itself, with the *count* of elements in the place of the number of
one; `passes/element_loops` makes of the call a loop that the engine runs, on the threads that are
free. Each element has a call context of its own there (errors, random numbers), writes its part
of the results and frees what it allocates. `%wires` is for the engine, too: how large the states
are, which decides what is done in parallel; `ON_CALLING_THREAD` where Python is called.

The trap: the function sees nothing of the program around it, so sizes known outside are arguments.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import islice
from typing import Any

from diastase_mlir.emit.buffers import allocate, as_tensor, put_element
from diastase_mlir.emit.loops import one_of, under_type
from diastase_mlir.emit.operations import index_binary, index_constant, to_signless
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    extract,
    extract_slice,
    reshape,
    sizes_of,
)
from diastase_mlir.jax_internals import ir, jaxprs_in, physical_aval
from diastase_mlir.lowering.context import LoweringContext
from diastase_mlir.lowering.functions import Batch, call_for_each
from diastase_mlir.lowering.loops import region_of
from diastase_mlir.lowering.registry import Equation, Value, lowers


@lowers("parallel_map", keys=True)
def lower_parallel_map(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> Sequence[ir.Value]:
    """Memory for all results, and the loop that fills it."""
    mapped, jaxpr = equation.params["mapped"], equation.params["jaxpr"]
    sizes = [context.size(size) for size in _batch_sizes(equation.avals_in, mapped)]
    count = reduce(_product, sizes)
    shapes = [[context.size(n) for n in physical_aval(a).shape] for a in equation.avals_out]
    outputs = [
        allocate([count, *shape[len(sizes) :]], context.element_type_of(aval))
        for shape, aval in zip(shapes, equation.avals_out, strict=True)
    ]

    def element(
        number: ir.Value,
        sizes: Sequence[Size],
        arrays: Sequence[ir.Value],
        outputs: Sequence[ir.Value],
    ) -> None:
        places = _places(number, sizes)
        values = [
            _element(array, [place for place, has in zip(places, flags, strict=True) if has])
            for array, flags in zip(arrays, mapped, strict=True)
        ]
        kinds = [context.type_of(aval) for aval in jaxpr.in_avals]
        values = [under_type(value, kind) for value, kind in zip(values, kinds, strict=True)]
        _put(context, context.lower_jaxpr(jaxpr, values), outputs, number)

    batch = Batch(count, sizes, _wires(jaxpr))
    call_for_each(context, element, batch, operands, equation.avals_in, outputs)
    return [
        reshape(as_tensor(output), shape) for output, shape in zip(outputs, shapes, strict=True)
    ]


@lowers("concurrent_qnodes", keys=True)
def lower_concurrent_qnodes(
    context: LoweringContext, equation: Equation, *operands: ir.Value
) -> Sequence[ir.Value]:
    """Each QNode as an element of its own, with memory for its results alone."""
    branches = equation.params["branch_jaxprs"]
    outputs = [
        allocate([1, *physical_aval(aval).shape], context.element_type_of(aval))
        for aval in equation.avals_out
    ]

    def element(
        number: ir.Value, _: Sequence[Size], arrays: Sequence[ir.Value], outputs: Sequence[ir.Value]
    ) -> None:
        given, places = iter(arrays), iter(outputs)

        def branch(jaxpr: Any) -> Callable[[], Sequence[ir.Value]]:
            own = list(islice(given, len(jaxpr.in_avals)))
            parts = list(islice(places, len(jaxpr.out_avals)))

            def run() -> Sequence[ir.Value]:
                _put(context, region_of(context, jaxpr)(*own), parts, index_constant(0))
                return []

            return run

        one_of(context, number, [], [branch(jaxpr) for jaxpr in branches])

    batch = Batch(len(branches), [], max(map(_wires, branches)))
    call_for_each(context, element, batch, operands, equation.avals_in, outputs)
    return [
        reshape(as_tensor(output), physical_aval(aval).shape)
        for output, aval in zip(outputs, equation.avals_out, strict=True)
    ]


def _put(
    context: LoweringContext,
    results: Sequence[Value],
    outputs: Sequence[ir.Value],
    place: ir.Value,
) -> None:
    """Write the results of an element into its place in each output."""
    for result, output in zip(results, outputs, strict=True):
        put_element(context.value(result), output, place)


def _batch_sizes(avals: Sequence[Any], mapped: Sequence[Sequence[bool]]) -> Iterator[Any]:
    """The size of each axis of the batch, from an operand that has it."""
    for axis in range(len(mapped[0])):
        operand = next(position for position, flags in enumerate(mapped) if flags[axis])
        yield avals[operand].shape[sum(mapped[operand][:axis])]


def _product(left: Size, right: Size) -> Size:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return index_binary("muli", as_index(left), as_index(right))


def _places(number: ir.Value, sizes: Sequence[Size]) -> list[ir.Value]:
    """Along each axis of the batch; the last one's changes fastest."""
    places: list[ir.Value] = []
    for size in reversed(sizes[1:]):
        places.insert(0, index_binary("remui", number, as_index(size)))
        number = index_binary("divui", number, as_index(size))
    return [number, *places]


def _element(array: ir.Value, places: Sequence[ir.Value]) -> ir.Value:
    """The part of an array at a place along its first axes, a scalar where it has no other."""
    array, count = to_signless(array), len(places)
    sizes = sizes_of(array)
    if not sizes or not places:
        return array
    if count == len(sizes):
        return extract(array, places)
    rest = [0] * (len(sizes) - count)
    lengths = [*[1] * count, *sizes[count:]]
    return extract_slice(
        array, [*places, *rest], lengths, [1] * len(sizes), frozenset(range(count))
    )


def _wires(jaxpr: Any) -> int:
    """Of the largest register that is allocated, as far as it is known."""
    found = 0
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if equation.primitive.name == "allocate_qubits":
            found = max(found, equation.params["num_wires"] or 0)
        found = max([found, *map(_wires, jaxprs_in(equation.params))])
    return found
