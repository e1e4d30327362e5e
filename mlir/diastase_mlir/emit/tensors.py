"""The tensor operations that are emitted: elements, slices, and whole arrays by formula.

Sizes, offsets and strides are numbers where known and `index` values where not; `Size` is either,
and arithmetic on sizes emits only what is not known. All tensors here have signless elements
(`operations.to_signless`).
"""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from diastase_mlir.emit.bindings import ir
from diastase_mlir.emit.operations import (
    array_attribute,
    create,
    enumeration,
    flag_constant,
    index_binary,
    index_constant,
    index_type,
    to_signless,
    to_type,
)

Size = int | ir.Value

DYNAMIC = -(2**63)
"""Stands for an unknown size in a type, and for an operand in a list of static sizes."""


HIDING = "builtin.unrealized_conversion_cast"
"""From an array and a flag to the array: with two operands, no fold applies to it."""


def tensor_type(value: ir.Value) -> Any:
    """The type of a value known to be a tensor."""
    return ir.RankedTensorType(value.type)


def element_type(value: ir.Value) -> ir.Type:
    """The element type of a tensor."""
    return tensor_type(value).element_type


def typed_shape(sizes: Sequence[Size], element: ir.Type) -> ir.Type:
    """The tensor type of these sizes."""
    static = [size if isinstance(size, int) else DYNAMIC for size in sizes]
    return ir.RankedTensorType.get(static, element)


def as_index(size: Size) -> ir.Value:
    """A size as an `index` value."""
    return index_constant(size) if isinstance(size, int) else size


def sizes_of(value: ir.Value) -> list[Size]:
    """All sizes of a tensor, as numbers where its type says them."""
    shape = tensor_type(value)
    return [
        create("tensor.dim", [index_type()], [value, index_constant(axis)]).result
        if shape.is_dynamic_dim(axis)
        else shape.get_dim_size(axis)
        for axis in range(shape.rank)
    ]


def unbox(tensor: ir.Value) -> ir.Value:
    """The element of a rank-0 tensor; the scalar itself where it was boxed."""
    owner = tensor.owner
    if not isinstance(owner, ir.Block) and owner.name == "tensor.from_elements":
        return owner.operands[0]
    return extract(to_signless(tensor), [])


def hidden(value: ir.Value) -> ir.Value:
    """The array as the result of a cast that nothing looks through before `drop_barriers`."""
    value = to_signless(value)
    return create(HIDING, [value.type], [value, flag_constant(True)]).result


def box(scalar: ir.Value) -> ir.Value:
    """A rank-0 tensor that holds a scalar."""
    return create("tensor.from_elements", [typed_shape([], scalar.type)], [scalar]).result


def extract(tensor: ir.Value, position: Sequence[ir.Value]) -> ir.Value:
    """One element."""
    return create("tensor.extract", [element_type(tensor)], [tensor, *position]).result


def insert(scalar: ir.Value, tensor: ir.Value, position: Sequence[ir.Value]) -> ir.Value:
    """The tensor with one element replaced."""
    return create("tensor.insert", [tensor.type], [scalar, tensor, *position]).result


def empty(sizes: Sequence[Size], element: ir.Type) -> ir.Value:
    """A tensor of undefined contents, to be filled."""
    unknown = [size for size in sizes if not isinstance(size, int)]
    return create("tensor.empty", [typed_shape(sizes, element)], unknown).result


def _slice_attributes(
    operands: int, offsets: Sequence[Size], sizes: Sequence[Size], strides: Sequence[Size]
) -> tuple[dict[str, ir.Attribute], list[ir.Value]]:
    """Attributes and dynamic operands common to `extract_slice` and `insert_slice`."""
    attributes: dict[str, ir.Attribute] = {}
    dynamic: list[ir.Value] = []
    segments = [1] * operands
    for name, entries in (("offsets", offsets), ("sizes", sizes), ("strides", strides)):
        static = [entry if isinstance(entry, int) else DYNAMIC for entry in entries]
        values = [entry for entry in entries if not isinstance(entry, int)]
        attributes[f"static_{name}"] = array_attribute("i64", static)
        segments.append(len(values))
        dynamic += values
    attributes["operandSegmentSizes"] = array_attribute("i32", segments)
    return attributes, dynamic


def _is_empty(tensor: ir.Value) -> bool:
    """Whether a tensor is known to have no elements."""
    return 0 in ir.RankedTensorType(tensor.type).shape


def extract_slice(
    source: ir.Value,
    offsets: Sequence[Size],
    sizes: Sequence[Size],
    strides: Sequence[Size],
    dropped: frozenset[int] = frozenset(),
) -> ir.Value:
    """A strided slice; axes in `dropped` (of size 1) do not appear in the result."""
    kept = [size for axis, size in enumerate(sizes) if axis not in dropped]
    if 0 in sizes or _is_empty(source):  # every offset would count as out of bounds
        return empty(kept, element_type(source))
    attributes, dynamic = _slice_attributes(1, offsets, sizes, strides)
    result = typed_shape(kept, element_type(source))
    return create("tensor.extract_slice", [result], [source, *dynamic], attributes).result


def insert_slice(
    source: ir.Value,
    target: ir.Value,
    offsets: Sequence[Size],
    sizes: Sequence[Size],
    strides: Sequence[Size],
) -> ir.Value:
    """The target with a strided slice replaced; the source may lack axes of size 1."""
    if 0 in sizes or _is_empty(target):
        return target
    attributes, dynamic = _slice_attributes(2, offsets, sizes, strides)
    return create(
        "tensor.insert_slice", [target.type], [source, target, *dynamic], attributes
    ).result


def generate(
    sizes: Sequence[Size],
    element: ir.Type,
    formula: Callable[[list[ir.Value]], ir.Value],
) -> ir.Value:
    """The array whose element at each position is `formula(position)`."""
    if not sizes:
        return box(formula([]))

    def at_position() -> ir.Value:
        return formula(
            [
                create("linalg.index", [index_type()], [], {"dim": enumeration(axis)}).result
                for axis in range(len(sizes))
            ]
        )

    return _parallel([], empty(sizes, element), lambda _: at_position())


def elementwise(
    element: ir.Type, function: Callable[..., ir.Value], *operands: ir.Value
) -> ir.Value:
    """A function of scalars, applied to arrays of equal shapes."""
    if tensor_type(operands[0]).rank == 0:
        return box(function(*map(unbox, operands)))
    target = empty(sizes_of(operands[0]), element)
    return _parallel(list(operands), target, lambda elements: function(*elements))


def _parallel(
    inputs: list[ir.Value], target: ir.Value, body: Callable[[list[ir.Value]], ir.Value]
) -> ir.Value:
    """A `linalg.generic` over the positions of `target`; the body gets the inputs' elements."""
    rank = tensor_type(target).rank
    identity = ir.AffineMap.get_identity(rank)
    maps = [identity] * (len(inputs) + 1)
    return generic(inputs, [target], maps, [True] * rank, lambda elements: [body(elements[:-1])])[0]


def generic(
    inputs: Sequence[ir.Value],
    targets: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    are_parallel: Sequence[bool],
    body: Callable[[list[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """A `linalg.generic`: loops, parallel or in order, over what the maps say of each operand.

    The body gets the elements of the inputs and of the targets, and gives those of the results.
    """
    kinds = [
        ir.Attribute.parse(f"#linalg.iterator_type<{'parallel' if own else 'reduction'}>")
        for own in are_parallel
    ]
    attributes = {
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(own) for own in maps]),
        "iterator_types": ir.ArrayAttr.get(kinds),
        "operandSegmentSizes": array_attribute("i32", [len(inputs), len(targets)]),
    }
    operands, types = [*inputs, *targets], [target.type for target in targets]
    operation = create("linalg.generic", types, operands, attributes, regions=1)
    elements = [element_type(operand) for operand in operands]
    locations = [ir.Location.current] * len(operands)
    block = operation.regions[0].blocks.append(*elements, arg_locs=locations)
    with ir.InsertionPoint(block):
        create("linalg.yield", [], body(list(block.arguments)))
    return list(operation.results)


def reshape(source: ir.Value, sizes: Sequence[Size]) -> ir.Value:
    """The same elements, in row-major order, under other sizes."""
    element = element_type(source)
    source_shape = list(tensor_type(source).shape)
    rank = len(source_shape)
    if not sizes:  # a rank-0 tensor is best seen as a scalar
        return box(extract(source, [index_constant(0)] * rank))
    if 0 in sizes or 0 in source_shape:  # an unknown size beside a 0 cannot be split off
        return empty(sizes, element)
    if rank == 0:
        one = typed_shape([1], element)
        source = create("tensor.from_elements", [one], [extract(source, [])]).result
    elif rank != 1:
        flat = ir.RankedTensorType.get([_product(source_shape)], element)
        attributes = {"reassociation": _one_group(rank)}
        source = create("tensor.collapse_shape", [flat], [source], attributes).result
    # Where one side has unknown sizes and the other has not, they have been checked to fit.
    static = [size if isinstance(size, int) else DYNAMIC for size in sizes]
    source = to_type(source, ir.RankedTensorType.get([_product(static)], element))
    if len(sizes) == 1:
        return source
    attributes = {
        "reassociation": _one_group(len(sizes)),
        "static_output_shape": array_attribute("i64", static),
    }
    result = typed_shape(sizes, element)
    unknown = [size for size in sizes if not isinstance(size, int)]
    return create("tensor.expand_shape", [result], [source, *unknown], attributes).result


def _product(shape: Sequence[int]) -> int:
    """The number of elements, unknown if any size is."""
    return DYNAMIC if DYNAMIC in shape else math.prod(shape)


def _one_group(rank: int) -> ir.Attribute:
    """Reassociation of `rank` axes with a single one; none at all for rank 0."""
    axes = ir.ArrayAttr.get([enumeration(axis) for axis in range(rank)])
    return ir.ArrayAttr.get([axes] if rank else [])


def product(sizes: Sequence[Size]) -> Size:
    """How many elements there are."""
    return reduce(times, sizes, 1)


def times(left: Size, right: Size) -> Size:
    """A product of sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 1 or right == 1:
        return right if left == 1 else left
    return index_binary("muli", as_index(left), as_index(right))


def plus(left: Size, right: Size) -> Size:
    """A sum of sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return index_binary("addi", as_index(left), as_index(right))


def smaller(left: Size, right: Size) -> Size:
    """The minimum of two sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    return index_binary("minsi", as_index(left), as_index(right))


def larger(left: Size, right: Size) -> Size:
    """The maximum of two sizes."""
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    return index_binary("maxsi", as_index(left), as_index(right))
