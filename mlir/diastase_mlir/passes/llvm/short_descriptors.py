"""Blocks and functions hand each other of an array only what its type does not say.

The descriptor of an array of rank r is 3 + 2r words, and MLIR makes as many arguments of a block or
function; of most arrays the sizes, the strides and the offset are known. Several results it returns
as one structure, built a field at a time by values of the type of the whole: the text of LLVM IR
and the code generator's work grow with the square of their number. So arrays become the words that
are unknown, two pointers for most, and many results are written to the caller's stack:

    ^bb1(%a: memref<4xf64>):                 ^bb1(%allocated: !llvm.ptr, %aligned: !llvm.ptr):
                                               %a = the descriptor of these and of constants
    %b:2 = call @f(%a)                   ->    call @f(%allocated, %aligned, %record)
                                               four words loaded from %record

    memref<4xf64>    allocated and aligned pointer; not the offset 0, the size 4, the stride 1
    memref<?xf64>    allocated and aligned pointer, size; not the offset, the stride

In: functions of blocks. What a function takes and returns stays as it is where the function is only
declared, has a C interface, or is called by its address.

The trap: all calls in a function share one record, so what each returns is loaded right after it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.emit.operations import create, reinterpret
from diastase_mlir.passes.memory import (
    descriptor_type,
    extracted,
    inserted,
    load,
    offset,
    pointer_type,
    store,
    word_type,
)
from diastase_mlir.passes.operations import (
    behind,
    call,
    callee_of,
    function_type,
    name_of,
    operations_named,
    set_function_type,
    to_index,
)


def is_array(value: ir.Value) -> bool:
    """Whether a value has a descriptor."""
    return isinstance(value.type, ir.MemRefType)


class Types:
    """What descriptors of each type are, in one module."""

    def __init__(self) -> None:
        self._layouts: dict[ir.Type, _Layout] = {}

    def layout(self, kind: ir.Type) -> "_Layout":
        """Of an array's descriptor."""
        layout = self._layouts.get(kind)
        if layout is None:
            layout = self._layouts[kind] = _layout(ir.MemRefType(kind))
        return layout

    def parts(self, kind: ir.Type) -> list[ir.Type]:
        """What a value is handed on as."""
        if not isinstance(kind, ir.MemRefType):
            return [kind]
        return [
            pointer_type(),
            pointer_type(),
            *[word_type()] * (len(self.layout(kind).unknown) - 2),
        ]

    def words_in(self, array: ir.Value) -> list[ir.Value]:
        """The words of an array that its type does not say."""
        layout = self.layout(array.type)
        descriptor = reinterpret(array, layout.structure)
        return [
            extracted(descriptor, kind, place)
            for place, kind in zip(layout.unknown, self.parts(array.type), strict=True)
        ]

    def template(self, kind: ir.Type) -> ir.Value:
        """The descriptor of an array, but for what is unknown of it."""
        layout = self.layout(kind)
        descriptor = create("llvm.mlir.undef", [layout.structure]).result
        for number, place in layout.known:
            descriptor = inserted(descriptor, self.constant(number), place)
        return descriptor

    def array(self, kind: ir.Type, template: ir.Value, words: Sequence[ir.Value]) -> ir.Value:
        """Make an array of its unknown words."""
        descriptor = template
        for word, place in zip(words, self.layout(kind).unknown, strict=True):
            descriptor = inserted(descriptor, word, place)
        return reinterpret(descriptor, kind)

    def constant(self, number: int) -> ir.Value:
        """A word that is known."""
        value = {"value": ir.IntegerAttr.get(word_type(), number)}
        return create("llvm.mlir.constant", [word_type()], [], value).result


@dataclass(frozen=True)
class _Layout:
    """Where words are in a descriptor."""

    structure: ir.Type
    unknown: list[list[int]]
    """The two pointers first."""
    known: list[tuple[int, list[int]]]


def _layout(memref: ir.MemRefType) -> _Layout:
    rank = memref.rank
    strides, start = memref.get_strides_and_offset()
    places = [[0], [1], [2], *([field, axis] for field in (3, 4) for axis in range(rank))]
    sizes = [
        None if memref.is_dynamic_dim(axis) else memref.get_dim_size(axis) for axis in range(rank)
    ]
    words = [
        None if memref.is_dynamic_stride_or_offset(word) else word for word in (start, *strides)
    ]
    numbers = [words[0], *sizes, *words[1:]]
    rest = list(zip(numbers, places[2:], strict=True))
    return _Layout(
        descriptor_type(rank),
        [*places[:2], *[place for number, place in rest if number is None]],
        [(number, place) for number, place in rest if number is not None],
    )


def _fits_a_word(kind: ir.Type) -> bool:
    """Whether `_load` and `_store` know what a value of this type is in memory."""
    is_number = isinstance(kind, ir.IntegerType | ir.IndexType | ir.F32Type | ir.F64Type)
    return is_number or kind == pointer_type()


def _load(kind: ir.Type, memory: ir.Value, number: int) -> ir.Value:
    """Load a value that is a word of memory."""
    place = offset(memory, number, bits=64)
    is_index = isinstance(kind, ir.IndexType)
    return to_index(load(word_type(), place)) if is_index else load(kind, place)


def _store(value: ir.Value, memory: ir.Value, number: int) -> None:
    """Store a value as a word of memory."""
    place = offset(memory, number, bits=64)
    if isinstance(value.type, ir.IndexType):
        value = create("arith.index_cast", [word_type()], [value]).result
    store(value, place)


_SEGMENTS = "operandSegmentSizes"
_CASES = "case_operand_segments"


def replace_arguments(
    branch: ir.Operation, replaced: Callable[[Sequence[ir.Value]], list[ir.Value]]
) -> None:
    """Give each block something else; what the branch looks at stays."""
    attributes = dict(branch.attributes.items())
    operands = list(branch.operands)
    if _SEGMENTS not in attributes:
        operands = replaced(operands)
    else:
        looked_at, *sizes = ir.DenseI32ArrayAttr(attributes[_SEGMENTS])
        is_switch = _CASES in attributes
        if is_switch:  # whose last size is that of all cases together
            sizes = [sizes[0], *ir.DenseI32ArrayAttr(attributes[_CASES])]
        ends = pairwise(accumulate(sizes, initial=looked_at))
        given = [replaced(operands[first:last]) for first, last in ends]
        operands = [*operands[:looked_at], *(value for values in given for value in values)]
        sizes = list(map(len, given))
        if is_switch:
            attributes[_CASES] = ir.DenseI32ArrayAttr.get(sizes[1:])
            sizes = [sizes[0], sum(sizes[1:])]
        attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get([looked_at, *sizes])
    successors = list(branch.successors)
    with ir.InsertionPoint(branch), branch.location:
        ir.Operation.create(
            branch.name, operands=operands, attributes=attributes, successors=successors
        )
    branch.erase()


_MOST_RETURNED = 4
"""Words that a function returns as they are: there are registers for them."""

_ADDRESSES = {"func.constant": "value", "llvm.mlir.addressof": "global_name"}


def short_descriptors(module: ir.Module) -> None:
    """Shorten what all blocks and functions take and return."""
    types = Types()
    functions = [
        definition.operation
        for definition in module.body.operations
        if definition.operation.name == "func.func" and definition.operation.regions[0].blocks
    ]
    signatures = {
        name_of(function): _Signature(function, types)
        for function in functions
        if "llvm.emit_c_interface" not in function.attributes
    }
    for constant in operations_named(module.operation, *_ADDRESSES):
        symbol = constant.attributes[_ADDRESSES[constant.name]]
        signatures.pop(ir.FlatSymbolRefAttr(symbol).value, None)
    for function in functions:
        _Body(function, signatures, types).shorten()


class _Signature:
    """What a function returns, and which of it in the record."""

    def __init__(self, function: ir.Operation, types: Types):
        results = function_type(function).results
        parts = [part for result in results for part in types.parts(result)]
        are_few = len(parts) <= _MOST_RETURNED
        self.recorded = [not are_few and _fits_a_word(part) for part in parts]
        self.words = sum(self.recorded)
        self.returned = [p for p, stored in zip(parts, self.recorded, strict=True) if not stored]


class _Body:
    """One function."""

    def __init__(self, function: ir.Operation, signatures: Mapping[str, _Signature], types: Types):
        self._function = function
        self._types = types
        self._signature = signatures.get(name_of(function))
        self._blocks = list(function.regions[0].blocks)
        self._entry = self._blocks[0]
        self._start = ir.InsertionPoint(self._entry.operations[0])
        """After what is made for all blocks."""
        found = operations_named(function, "func.call", "func.return", "cf.br", "cf.cond_br",
                                 "cf.switch")  # fmt: skip
        self._branches = [operation for operation in found if operation.name.startswith("cf.")]
        self._returns = [operation for operation in found if operation.name == "func.return"]
        self._calls = [
            (call, signatures[name])
            for call in found
            if call.name == "func.call" and (name := callee_of(call)) in signatures
        ]
        given: Any = function.attributes.get("arg_attrs") or []
        self._attributes_of_others = [
            attributes
            for argument, attributes in zip(self._entry.arguments, given, strict=False)
            if not is_array(argument)
        ]
        self._words: dict[ir.Value, list[ir.Value]] = {}
        self._templates: dict[ir.Type, ir.Value] = {}

    def shorten(self) -> None:
        """Shorten what the function, its blocks and its calls take and return."""
        for block in self._blocks:
            if block != self._entry or self._signature is not None:
                self._shorten_arguments(block)
        record = self._record(max((signature.words for _, signature in self._calls), default=0))
        for operation, signature in self._calls:
            self._shorten_call(operation, signature, record)
        for branch in self._branches:
            if any(map(is_array, branch.operands)):
                replace_arguments(branch, self._shortened)
        if self._signature is not None:
            self._shorten_results(self._signature)

    def _record(self, words: int) -> ir.Value | None:
        """Where the functions that are called write their results, if any does."""
        if not words:
            return None
        with ir.InsertionPoint.at_block_begin(self._entry), self._function.location:
            number = self._types.constant(words)
            kind = {"elem_type": ir.TypeAttr.get(word_type())}
            return create("llvm.alloca", [pointer_type()], [number], kind).result

    def _shorten_arguments(self, block: ir.Block) -> None:
        long = [argument for argument in block.arguments if is_array(argument)]
        for argument in long:
            kind = argument.type
            parts = self._types.parts(kind)
            words: list[ir.Value] = [block.add_argument(p, argument.location) for p in parts]
            place = self._start if block == self._entry else ir.InsertionPoint.at_block_begin(block)
            with place, argument.location:
                argument.replace_all_uses_with(self._array(kind, words))
        for argument in reversed(long):
            block.erase_argument(argument.arg_number)

    def _array(self, kind: ir.Type, words: list[ir.Value]) -> ir.Value:
        """Make an array of words, which it is remembered to have."""
        template = self._templates.get(kind)
        if template is None:
            with ir.InsertionPoint.at_block_begin(self._entry), self._function.location:
                template = self._templates[kind] = self._types.template(kind)
        array = self._types.array(kind, template, words)
        self._words[array] = words
        return array

    def _words_of(self, value: ir.Value) -> list[ir.Value]:
        """What a value is handed on as."""
        if not is_array(value):
            return [value]
        words = self._words.get(value)
        if words is None:
            with behind(value), value.location:
                words = self._words[value] = self._types.words_in(value)
        return words

    def _shortened(self, values: Iterable[ir.Value]) -> list[ir.Value]:
        """Arguments of a block or function: those that are no arrays, then the arrays' words."""
        others = list[ir.Value]()
        words = list[ir.Value]()
        for value in values:
            (words if is_array(value) else others).extend(self._words_of(value))
        return others + words

    def _shorten_call(
        self, operation: ir.Operation, signature: _Signature, record: ir.Value | None
    ) -> None:
        operands = self._shortened(operation.operands)
        with ir.InsertionPoint(operation), operation.location:
            if signature.words:
                assert record is not None
                operands.append(record)
            returned = iter(call(callee_of(operation), operands, signature.returned))
            recorded, place = iter(signature.recorded), 0
            for result in operation.results:
                words: list[ir.Value] = []
                for part in self._types.parts(result.type):
                    if next(recorded):
                        assert record is not None
                        words.append(_load(part, record, place))
                        place += 1
                    else:
                        words.append(next(returned))
                new = self._array(result.type, words) if is_array(result) else words[0]
                result.replace_all_uses_with(new)
        operation.erase()

    def _shorten_results(self, signature: _Signature) -> None:
        record = None
        if signature.words:
            record = self._entry.add_argument(pointer_type(), self._function.location)
        for end in self._returns:
            self._shorten_return(end, signature, record)
        attributes = self._function.attributes
        takes = [argument.type for argument in self._entry.arguments]
        set_function_type(self._function, takes, signature.returned)
        if "arg_attrs" in attributes:
            kept = self._attributes_of_others + [ir.DictAttr.get()] * len(takes)
            attributes["arg_attrs"] = ir.ArrayAttr.get(kept[: len(takes)])
        if "res_attrs" in attributes:
            del attributes["res_attrs"]

    def _shorten_return(
        self, end: ir.Operation, signature: _Signature, record: ir.Value | None
    ) -> None:
        words = [word for value in end.operands for word in self._words_of(value)]
        returned: list[ir.Value] = []
        place = 0
        with ir.InsertionPoint(end), end.location:
            for word, recorded in zip(words, signature.recorded, strict=True):
                if recorded:
                    assert record is not None
                    _store(word, record, place)
                    place += 1
                else:
                    returned.append(word)
            create("func.return", [], returned)
        end.erase()
