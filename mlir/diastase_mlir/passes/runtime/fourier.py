"""Fourier transforms by our library, axis by axis: the first from array to array, others in place.

    %y = stablehlo.custom_call @diastase.fourier(%x) {kind = "FFT", axes = 1, …}
    ->
    %buffer = memref.alloc(); func.call @…fourier__transform_f64(…, a view of %x, %buffer, …); %y

The library transforms along any axis. So where axes are moved to the end for the transform and
back after it, which is how JAX says any other axis, nothing is moved.

The source is a view, not a copy, which nothing may merge with another or look through before
bufferization: that sees the array read just before the call, and nothing reads later.

Part of `runtime_to_calls`.
"""

from collections.abc import Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import allocate, as_tensor
from diastase_mlir.emit.library_calls import SITE
from diastase_mlir.emit.operations import create, index_binary, index_constant
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    hidden,
    plus,
    product,
    sizes_of,
    unbox,
)
from diastase_mlir.passes.memory import address_of, to_pointer, word, word_type
from diastase_mlir.passes.operations import Signatures, call_imported, defining, to_index
from diastase_runtime.abi import import_symbol

_VIEW = "diastase.view"
"""An attribute that is different for each view."""


def call_fourier(operation: Any, state: ir.Value, declared: Signatures) -> None:
    """Emit the calls of an operation at its place."""
    config = ir.DictAttr(operation.attributes["backend_config"])
    kind = ir.StringAttr(config["kind"]).value
    axes = ir.IntegerAttr(config["axes"]).value
    calls = _Calls(state, word(ir.IntegerAttr(config[SITE]).value), declared)
    result = operation.results[0]
    source, *sizes = operation.operands
    places = list(range(ir.RankedTensorType(source.type).rank))
    moved = _moved(source, result)
    if moved is not None:
        source, result, places = moved
    places = places[len(places) - axes :]
    if kind == "RFFT":
        made = calls.to_spectrum(source, places)
    elif kind == "IRFFT":
        length: Size = operation.results[0].type.shape[-1]
        made = calls.from_spectrum(source, places, to_index(unbox(sizes[0])) if sizes else length)
    else:
        made = calls.transform(source, places, kind == "IFFT")
    result.replace_all_uses_with(made)
    if result.owner != operation:
        result.owner.operation.erase()


def _moved(source: Any, result: Any) -> tuple[Any, Any, list[int]] | None:
    """The array before axes were moved, the one after they are moved back, and where each was."""
    before, uses = defining(source), [use.owner for use in result.uses]
    if before is None or before.name != "stablehlo.transpose" or len(uses) != 1:
        return None
    after = uses[0].operation
    if after.name != "stablehlo.transpose":
        return None
    order, back = (
        list(ir.DenseI64ArrayAttr(own.attributes["permutation"])) for own in (before, after)
    )
    if [order[place] for place in back] != sorted(order):
        return None
    return before.operands[0], after.results[0], order


class _Calls:
    """Calls of the library for one operation."""

    def __init__(self, state: ir.Value, site: ir.Value, declared: Signatures):
        self._state, self._site, self._declared = state, site, declared

    def transform(self, source: ir.Value, axes: Sequence[int], inverse: bool) -> ir.Value:
        """Transform complex numbers along some axes."""
        sizes = sizes_of(source)
        target = allocate(sizes, element_type(source))
        self._along(_view(source), _pointer(target), sizes, target, axes, inverse)
        return as_tensor(target)

    def to_spectrum(self, source: ir.Value, axes: Sequence[int]) -> ir.Value:
        """Transform real numbers along the last of the axes, and what that gives along others."""
        sizes = sizes_of(source)
        *others, axis = axes
        length, sizes[axis] = sizes[axis], _half(sizes[axis])
        target = allocate(sizes, ir.ComplexType.get(element_type(source)))
        to = _pointer(target)
        self._reals(_view(source), to, sizes, axis, length, target, inverse=False)
        self._along(to, to, sizes, target, others, inverse=False)
        return as_tensor(target)

    def from_spectrum(self, source: ir.Value, axes: Sequence[int], length: Size) -> ir.Value:
        """Transform back along all axes but the last of them, then along that to real numbers."""
        sizes = sizes_of(source)
        *others, axis = axes
        element: Any = element_type(source)
        origin = _view(source)
        if others:
            between = allocate(sizes, element)
            there = _pointer(between)
            self._along(origin, there, sizes, between, others, inverse=True)
            origin = there
        sizes[axis] = length
        target = allocate(sizes, element.element_type)
        self._reals(origin, _pointer(target), sizes, axis, length, target, inverse=True)
        return as_tensor(target)

    def _along(
        self, source: ir.Value, target: ir.Value, sizes: Sequence[Size], buffer: ir.Value,
        axes: Sequence[int], inverse: bool,
    ) -> None:  # fmt: skip
        """The last one first, from source to target; the others in place."""
        for axis in reversed(axes):
            outer, inner = product(sizes[:axis]), product(sizes[axis + 1 :])
            divisor = sizes[axis] if inverse else 1
            numbers = [outer, sizes[axis], inner, int(inverse), divisor]
            self._call("transform", source, target, numbers, buffer)
            source = target

    def _reals(
        self, source: ir.Value, target: ir.Value, sizes: Sequence[Size], axis: int, length: Size,
        buffer: ir.Value, *, inverse: bool,
    ) -> None:  # fmt: skip
        outer, inner = product(sizes[:axis]), product(sizes[axis + 1 :])
        numbers = [outer, length, inner, int(inverse), length if inverse else 1]
        self._call("transform_reals", source, target, numbers, buffer)

    def _call(
        self, name: str, source: ir.Value, target: ir.Value, numbers: Sequence[Size], buffer: Any
    ) -> None:
        element = ir.MemRefType(buffer.type).element_type
        real = element.element_type if isinstance(element, ir.ComplexType) else element
        words = [
            word(number)
            if isinstance(number, int)
            else create("arith.index_cast", [word_type()], [number]).result
            for number in numbers
        ]
        symbol = import_symbol("fourier", f"{name}_{real}")
        call_imported(self._declared, symbol, [self._state, self._site, source, target, *words])


def _pointer(buffer: ir.Value) -> ir.Value:
    return to_pointer(address_of(buffer))


def _view(tensor: ir.Value) -> ir.Value:
    """A pointer to what an array holds at this place."""
    tensor = hidden(tensor)
    shaped = ir.RankedTensorType(tensor.type)
    memref = ir.MemRefType.get(shaped.shape, shaped.element_type)
    attributes = {"read_only": ir.UnitAttr.get(), _VIEW: ir.Attribute.parse("distinct[0]<unit>")}
    return _pointer(create("bufferization.to_buffer", [memref], [tensor], attributes).result)


def _half(length: Size) -> Size:
    """The size of half a spectrum."""
    if isinstance(length, int):
        return length // 2 + 1
    return plus(index_binary("shrui", as_index(length), index_constant(1)), 1)
