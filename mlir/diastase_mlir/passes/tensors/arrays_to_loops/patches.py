"""Convolutions with many features, as products of matrices: of patches and the kernel.

A patch is what lies under the taps of the kernel at a place of the result. For a part of one entry
of the batch at a time the patches are copied to where they make a matrix, and BLAS does the rest.
Gradients of kernels sum over what was the batch, and have few places and many taps instead. There,
and where the entries of the batch are neighbours in memory, the patches of all of them make the
matrix, for one of what is summed over at a time, and the products are added up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from diastase_mlir.bindings import ir
from diastase_mlir.emit.loops import Values, for_range
from diastase_mlir.emit.operations import index_binary, index_constant, scalar_constant
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    empty,
    extract,
    extract_slice,
    generate,
    hidden,
    insert_slice,
    plus,
    product,
    sizes_of,
    times,
)
from diastase_mlir.passes.operations import SCOPE
from diastase_mlir.passes.tensors.arrays_to_loops.dot_general import (
    Labels,
    Operand,
    contract,
    fill,
    merge_axes,
    multiply_matrices,
    split_axes,
    transposed,
)

LARGEST_PATCHES = 2**19
"""Elements of the largest matrix of patches that is made at once, a row of it at least."""


@dataclass(frozen=True)
class Convolution:
    """Operands and result, with labels as in `convolution`.

    Where the result has `o0`, `o1` and so on, the left side has `x0`, the right side `t0`.
    """

    left: Operand
    right: Operand
    result: Labels
    sizes: dict[str, Size]
    strides: Sequence[int]
    dilations: Sequence[int]

    @property
    def summed(self) -> Labels:
        """What is summed over, in the order of the right side."""
        return tuple(label for label in self.right.labels if label[0] in "ct")


def in_patches(convolution: Convolution) -> ir.Value:
    """For each entry of the batch, and rows of it at a time, the patches times the kernel."""
    sizes = convolution.sizes
    last = convolution.left.labels[-1]
    if "o0" in sizes and sizes["g"] == 1 and (last == "b" or _has_fewer_places(sizes, last)):
        return _of_all_entries(convolution)
    if not _stand_together(convolution.summed, convolution.right.labels):
        # Once, and not for each product.
        order = ("g", "f", *convolution.summed)
        convolution = replace(convolution, right=transposed(convolution.right, order))
    element = element_type(convolution.left.value)
    target = empty([sizes[label] for label in convolution.result], element)

    def entry(number: ir.Value, results: Values) -> Values:
        if "o0" not in sizes:
            return [_part(convolution, number, 0, {}, results[0])]
        step = _rows_at_once(sizes)
        if step == sizes["o0"]:
            return [_part(convolution, number, 0, {}, results[0])]

        def rows(start: ir.Value, inner: Values) -> Values:
            left = index_binary("subi", as_index(sizes["o0"]), start)
            count = index_binary("minsi", as_index(step), left)
            return [_part(convolution, number, start, {"o0": count}, inner[0])]

        return for_range(SCOPE, (0, sizes["o0"], step), results, rows)

    return for_range(SCOPE, (0, sizes["b"], 1), [target], entry)[0]


def _rows_at_once(sizes: dict[str, Size]) -> Size:
    """How many rows of the result have patches that fit into the memory for them."""
    one = product([size for label, size in sizes.items() if label not in ("b", "f", "o0")])
    return _most(one, sizes["o0"])


def _most(one: Size, rows: Size) -> Size:
    """How many rows of so many elements fit."""
    if isinstance(one, int):
        most = max(1, LARGEST_PATCHES // max(one, 1))
        if isinstance(rows, int):
            return min(rows, most)
        return index_binary("maxsi", index_binary("minsi", rows, as_index(most)), as_index(1))
    positive = index_binary("maxsi", one, as_index(1))
    most = index_binary("divsi", as_index(LARGEST_PATCHES), positive)
    return index_binary("maxsi", index_binary("minsi", as_index(rows), most), as_index(1))


def _part(
    whole: Convolution, entry: ir.Value, start: Size, fewer: dict[str, Size], target: ir.Value
) -> ir.Value:
    """The target with some rows of one entry of the batch computed."""
    sizes = whole.sizes | fewer
    patches = _patches(whole, entry, start, sizes)
    wanted = tuple(label for label in whole.result if label != "b")
    places = tuple(label for label in wanted if label[0] == "o")
    is_first = wanted.index(places[0]) < wanted.index("f") if places else False
    result = wanted
    if not _stand_together(places, wanted):
        result = ("g", *places, "f") if is_first else ("g", "f", *places)
    pair = (patches, whole.right) if is_first else (whole.right, patches)
    value = transposed(Operand(contract(*pair, result, sizes), result), wanted).value
    # The batch's axis, of size 1, stays in the slice that is written to.
    offsets = [{"b": entry, "o0": start}.get(label, 0) for label in whole.result]
    extent = [1 if label == "b" else sizes[label] for label in whole.result]
    return insert_slice(value, target, offsets, extent, [1] * len(extent))


def _stand_together(some: Labels, labels: Labels) -> bool:
    places = [labels.index(label) for label in some]
    return not places or places == list(range(places[0], places[0] + len(places)))


def _patches(whole: Convolution, entry: ir.Value, start: Size, sizes: dict[str, Size]) -> Operand:
    """What lies under the taps, for all places; neighbours as in the left side where possible."""
    places = tuple(label for label in whole.result if label[0] == "o")
    own = tuple(label for label in whole.left.labels if label != "b")
    if not places or (own[-1][0] == "x" and not _has_fewer_places(sizes, own[-1])):
        labels = ("g", *whole.summed, *places)
    else:
        labels = (*places, "g", *whole.summed)
    source = hidden(_entry_of(whole.left, entry, start, whole, sizes))

    def element(position: list[ir.Value]) -> ir.Value:
        at = dict(zip(labels, position, strict=True))
        return extract(source, [_place(whole, label, at) for label in own])

    full = [sizes[label] for label in labels]
    return Operand(hidden(generate(full, element_type(source), element)), labels)


def _has_fewer_places(sizes: dict[str, Size], label: str) -> bool:
    """Whether it is an axis with fewer places than taps, as in gradients of kernels."""
    if label[0] != "x":
        return False
    places, taps = (sizes[kind + label[1:]] for kind in "ot")
    return isinstance(places, int) and isinstance(taps, int) and places < taps


def _place(whole: Convolution, label: str, at: dict[str, ir.Value]) -> ir.Value:
    """Where an element lies along an axis of the left side."""
    if label[0] != "x":
        return at[label]
    axis = int(label[1:])
    place = times(at[f"o{axis}"], whole.strides[axis])
    return as_index(plus(place, times(at[f"t{axis}"], whole.dilations[axis])))


def _entry_of(
    left: Operand, entry: ir.Value, start: Size, whole: Convolution, sizes: dict[str, Size]
) -> ir.Value:
    """One entry of the batch, from the row on at which the patches begin."""
    full = sizes_of(left.value)
    offsets: list[Size] = [0] * len(full)
    batch = left.labels.index("b")
    offsets[batch], full[batch] = entry, 1
    if "x0" in left.labels and not isinstance(start, int):
        axis = left.labels.index("x0")
        first = product([start, whole.strides[0]])
        offsets[axis] = first
        full[axis] = index_binary("subi", as_index(full[axis]), as_index(first))
    return extract_slice(left.value, offsets, full, [1] * len(full), frozenset([batch]))


# --- the patches of all entries ------------------------------------------------------------------


def _of_all_entries(whole: Convolution) -> ir.Value:
    """Products for one of what is summed over, and rows of taps, at a time, added up."""
    sizes, element = whole.sizes, element_type(whole.left.value)
    # The first axis outermost, which is divided.
    taps = tuple(sorted(label for label in whole.summed if label != "c"))
    places = tuple(label for label in whole.result if label[0] == "o")
    # The axis of neighbours innermost: of entries, or of taps.
    by_taps = whole.left.labels[-1] == "b"
    free = (*places, "b") if by_taps else ("b", *places)
    labels = (*taps, *free) if by_taps else (*free, *taps)
    names = (("k", "i"), ("k", "j")) if by_taps else (("i", "k"), ("j", "k"))
    count = product([sizes[label] for label in free])
    in_row = product([sizes[label] for label in taps if label != "t0"])
    step = _most(times(count, in_row), sizes["t0"])
    kernel = _kernels(whole, taps, by_taps)

    def entry(number: ir.Value, results: Values) -> Values:
        def rows(start: ir.Value, inner: Values) -> Values:
            left = index_binary("subi", as_index(sizes["t0"]), start)
            own = sizes
            if not isinstance(step, int) or step != sizes["t0"]:
                own = sizes | {"t0": index_binary("minsi", as_index(step), left)}
            extent = {"k": times(own["t0"], in_row), "i": count, "j": sizes["f"]}
            under = _under(whole, number, start, labels, own)
            outer = len(taps) if by_taps else len(free)
            groups = [outer, len(labels) - outer]
            patches = merge_axes(under, groups, [own[label] for label in labels])
            offsets = [number, *({"k": times(start, in_row)}.get(name, 0) for name in names[1])]
            part = [1, *(extent[name] for name in names[1])]
            own_kernel = extract_slice(kernel, offsets, part, [1] * 3, frozenset([0]))
            operands = (Operand(patches, names[0]), Operand(own_kernel, names[1]))
            return [multiply_matrices(*operands, ("i", "j"), ("i", "k", "j"), extent, inner[0])]

        return for_range(SCOPE, (0, sizes["t0"], step), results, rows)

    total = fill(scalar_constant(element, 0), [count, sizes["f"]])
    (total,) = for_range(SCOPE, (0, sizes["c"], 1), [total], entry)
    found = (*free, "g", "f")
    value = split_axes(total, [len(free), 2], [sizes[label] for label in found])
    return transposed(Operand(value, found), whole.result).value


def _kernels(whole: Convolution, taps: Labels, by_taps: bool) -> ir.Value:
    """The kernel as a matrix for each of what is summed over, taps in rows or in columns."""
    labels = ("c", *taps, "g", "f") if by_taps else ("c", "g", "f", *taps)
    value = transposed(whole.right, labels).value
    groups = [1, len(taps), 2] if by_taps else [1, 2, len(taps)]
    return merge_axes(value, groups, [whole.sizes[label] for label in labels])


def _under(
    whole: Convolution, entry: ir.Value, start: ir.Value, labels: Labels, sizes: dict[str, Size]
) -> ir.Value:
    """What lies under some rows of taps, for all places of all entries."""
    source = hidden(whole.left.value)

    def element(position: list[ir.Value]) -> ir.Value:
        at = dict(zip(labels, position, strict=True))
        at |= {"c": entry, "g": index_constant(0), "t0": index_binary("addi", at["t0"], start)}
        return extract(source, [_place(whole, label, at) for label in whole.left.labels])

    return hidden(generate([sizes[label] for label in labels], element_type(source), element))
