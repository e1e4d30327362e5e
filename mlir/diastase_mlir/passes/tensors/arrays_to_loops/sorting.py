"""Rule for `sort`: by keys, as lowering says them, in the library; else by comparisons, in loops.

    %0 = stablehlo.sort(%a) { … } {diastase.sort_keys = ["float"]}
    ->
    words of %a, lines last; func.call @…sorting__sort_lines(…, their address, …); %0 of the words

One array is sorted as words. Of several, or where equal keys can be told apart, positions are
sorted by the last key, then by the one before it, and so on, and all arrays are read at the
positions: a sort of a library's pairs, or of words that hold a key and a position, is stable.

The library works in place, on buffers. An error that it records, an interrupt, leaves all positions
what they were, in some order: nothing is read out of bounds afterwards.
"""

from collections.abc import Callable, Sequence
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.buffers import allocate, as_tensor, filled
from diastase_mlir.emit.operations import create, integer_type
from diastase_mlir.emit.sort_keys import DESCENDING, FIRST, KEYS, POSITIONS
from diastase_mlir.emit.tensors import (
    Size,
    as_index,
    element_type,
    empty,
    extract,
    generate,
    insert_slice,
    product,
    sizes_of,
)
from diastase_mlir.passes.memory import address_of, pointer_type, to_pointer, word, word_type
from diastase_mlir.passes.operations import (
    call,
    function_around,
    name_of,
    new_function,
    to_index,
)
from diastase_mlir.passes.tensors.arrays_to_loops.comparison_sort import sort_by_comparison
from diastase_mlir.passes.tensors.arrays_to_loops.rules import Rule, signless_operands
from diastase_mlir.passes.tensors.arrays_to_loops.sort_words import (
    POSITION_BITS,
    as_word,
    compared,
    from_word,
    is_sortable,
    minus_zero,
    position_in,
    reversed_word,
    width_of,
    with_position,
)
from diastase_runtime.abi import SHORT_LINE, import_symbol

_SORT, _SCRATCH = (import_symbol("sorting", name) for name in ("sort_lines", "scratch_size"))

Position = list[ir.Value]
Element = Callable[[Position], ir.Value]
"""From a position to the element there."""
Key = tuple[Element, ir.Type, str]
"""Elements, their type, and their order."""


def _sort(operation: Any) -> Sequence[ir.Value]:
    """Operands sorted together along an axis."""
    arrays = signless_operands(operation)
    keys = _keys_of(operation, arrays)
    state = function_around(operation).regions[0].blocks[0].arguments
    if not keys or not len(state) or state[0].type != pointer_type():
        return sort_by_comparison(operation)
    lines = _Lines(operation, arrays[0], state[0])
    (_, element, order), is_alone = keys[0], len(arrays) == len(keys) == 1
    if is_alone and not (order == "float" and lines.is_descending):
        return [lines.sorted_elements(arrays[0], element, order)]
    return lines.sorted_by_positions(arrays, keys, _positions_of(operation))


def _keys_of(operation: Any, arrays: Sequence[ir.Value]) -> list[Key]:
    """The keys; none where the comparison is something else."""
    if KEYS not in operation.attributes:
        return []
    orders = [ir.StringAttr(own).value for own in ir.ArrayAttr(operation.attributes[KEYS])]
    keys: list[Key] = []
    for array, order in zip(arrays, orders, strict=False):
        element: Any = element_type(array)
        if order == "complex":
            keys += [(_part(array, part), element.element_type, "float") for part in ("re", "im")]
        else:
            keys.append((_element(array), element, order))
    return keys if all(is_sortable(element) for _, element, _ in keys) else []


def _positions_of(operation: Any) -> list[int]:
    if POSITIONS not in operation.attributes:
        return []
    return list(ir.DenseI64ArrayAttr(operation.attributes[POSITIONS]))


def _element(array: ir.Value) -> Element:
    return lambda position: extract(array, position)


def _part(array: ir.Value, name: str) -> Element:
    element: Any = element_type(array)

    def at(position: Position) -> ir.Value:
        number = extract(array, position)
        return create(f"complex.{name}", [element.element_type], [number]).result

    return at


class _Lines:
    """The lines of arrays along an axis, which is the last one of what is sorted."""

    def __init__(self, operation: Any, array: ir.Value, state: ir.Value):
        self._operation, self._state = operation, state
        self._axis = ir.IntegerAttr(operation.attributes["dimension"]).value
        self._sizes = sizes_of(array)
        others = [size for axis, size in enumerate(self._sizes) if axis != self._axis]
        self._length = self._sizes[self._axis]
        self._shape: list[Size] = [*others, self._length]
        self._count = product(others)
        self.is_descending = DESCENDING in operation.attributes
        self._wanted: Size = self._length
        if FIRST in operation.attributes:
            self._wanted = ir.IntegerAttr(operation.attributes[FIRST]).value
        # Lines whose length is not known may be shorter than what is wanted of them.
        self._given = self._wanted if isinstance(self._length, int) else self._length

    # --- one array -------------------------------------------------------------------------------

    def sorted_elements(self, array: ir.Value, element: ir.Type, order: str) -> ir.Value:
        """An array whose elements tell all about them."""

        def at(position: Position) -> ir.Value:
            number = as_word(extract(array, self._in_array(position)), order)
            return reversed_word(number) if self.is_descending else number

        is_in_words = order == "signed" and width_of(element) == 64 and not self.is_descending
        if is_in_words and self._axis == len(self._sizes) - 1:
            return as_tensor(self._sorted(filled(array), None))
        words = filled(generate(self._shape, word_type(), at))
        zero = minus_zero(element) if order == "float" else 0
        found = as_tensor(self._sorted(words, None, zero))

        def back(position: Position) -> ir.Value:
            number = extract(found, self._in_lines(position))
            number = reversed_word(number) if self.is_descending else number
            return from_word(number, element, order)

        return generate(self._sizes, element, back)

    # --- several ---------------------------------------------------------------------------------

    def sorted_by_positions(
        self, arrays: Sequence[ir.Value], keys: Sequence[Key], positions: Sequence[int]
    ) -> list[ir.Value]:
        """Arrays at the positions that are sorted by keys."""
        order: ir.Value | None = None
        for key in reversed(keys):
            order = self._order_by(key, order)
        assert order is not None
        found = order

        def position_at(position: Position) -> ir.Value:
            return extract(found, self._in_lines(position))

        def moved(array: ir.Value, is_positions: bool) -> ir.Value:
            element = element_type(array)

            def at(position: Position) -> ir.Value:
                source = position_at(position)
                if is_positions:
                    return _as_integer(source, element)
                there = [*position]
                there[self._axis] = to_index(source)
                return extract(array, there)

            return self._in_front(generate(self._given_sizes(), element, at))

        return [
            moved(array, number in positions)
            if list(result.uses)
            else empty(self._sizes, element_type(array))
            for number, (array, result) in enumerate(
                zip(arrays, self._operation.results, strict=True)
            )
        ]

    def _order_by(self, key: Key, before: ir.Value | None) -> ir.Value:
        """Positions, in order or as they are, sorted by a key."""
        element_at, element, order = key

        def place(position: Position) -> ir.Value:
            return _as_integer(position[-1], word_type())

        def key_at(position: Position) -> ir.Value:
            source = position
            if before is not None:
                source = [*position[:-1], to_index(extract(before, position))]
            number = as_word(compared(element_at(self._in_array(source)), order), order)
            return reversed_word(number) if self.is_descending else number

        if width_of(element) > POSITION_BITS or not self._fits_position():
            words = filled(generate(self._shape, word_type(), key_at))
            start = generate(self._shape, word_type(), place) if before is None else before
            more = filled(start)
            self._sorted(words, more)
            return as_tensor(more)

        def packed_at(position: Position) -> ir.Value:
            return with_position(key_at(position), place(position))

        words = filled(generate(self._shape, word_type(), packed_at))
        found = as_tensor(self._sorted(words, None))

        def position_at(position: Position) -> ir.Value:
            local = position_in(extract(found, position))
            if before is None:
                return local
            return extract(before, [*position[:-1], to_index(local)])

        return generate([*self._shape[:-1], self._given], word_type(), position_at)

    def _fits_position(self) -> bool:
        return isinstance(self._length, int) and self._length <= 1 << POSITION_BITS

    def _given_sizes(self) -> list[Size]:
        """The sizes of what is computed of an array."""
        sizes = [*self._sizes]
        sizes[self._axis] = self._given
        return sizes

    def _in_front(self, array: ir.Value) -> ir.Value:
        """An array of all sizes with this one in front: what slices it gets the array itself."""
        if self._given is self._length:
            return array
        whole = empty(self._sizes, element_type(array))
        sizes = self._given_sizes()
        return insert_slice(array, whole, [0] * len(sizes), sizes, [1] * len(sizes))

    # --- positions, and the call -----------------------------------------------------------------

    def _in_array(self, position: Position) -> Position:
        """Where an element of a line is in the array."""
        *others, place = position
        return [*others[: self._axis], place, *others[self._axis :]]

    def _in_lines(self, position: Position) -> Position:
        """Where an element of the array is in its line."""
        return [*position[: self._axis], *position[self._axis + 1 :], position[self._axis]]

    def _sorted(self, words: ir.Value, more: ir.Value | None, zero: int = 0) -> ir.Value:
        """Sort the lines in a buffer, and move what is in the other one with them."""
        count, length, wanted = (
            _as_integer(as_index(size), word_type())
            for size in (self._count, self._length, self._wanted)
        )
        pointer = to_pointer(address_of(words))
        scratch, size = pointer, word(0)  # none
        if not isinstance(self._length, int) or self._length > SHORT_LINE:
            kinds = word(int(more is not None)), word(int(zero != 0))
            (size,) = self._call(_SCRATCH, [count, length, wanted, *kinds], [word_type()])
            scratch = to_pointer(address_of(allocate([to_index(size)], word_type())))
        if more is None:
            other = create("llvm.mlir.zero", [pointer_type()]).result
        else:
            other = to_pointer(address_of(more))
        operands = [pointer, other, count, length, wanted, word(zero), scratch, size]
        self._call(_SORT, [self._state, *operands], [])
        return words

    def _call(
        self, symbol: str, operands: Sequence[ir.Value], results: Sequence[ir.Type]
    ) -> list[ir.Value]:
        """Call a function of the library, declared in the module if it is not yet."""
        block = function_around(self._operation).parent.operation.regions[0].blocks[0]
        names = {name_of(own) for own in block.operations if own.operation.name == "func.func"}
        if symbol not in names:
            kind = ir.FunctionType.get([own.type for own in operands], list(results))
            with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
                new_function(symbol, kind)
        return call(symbol, operands, results)


def _as_integer(number: ir.Value, element: Any) -> ir.Value:
    """A position, an `index` or a word, as an integer of some type."""
    if isinstance(number.type, ir.IndexType) or isinstance(element, ir.IndexType):
        return create("arith.index_cast", [element], [number]).result
    if number.type == element:
        return number
    return create("arith.trunci", [integer_type(element.width)], [number]).result


RULES: dict[str, Rule] = {"stablehlo.sort": _sort}
