"""Calls of LAPACK and BLAS routines, through SciPy's pointers, for every matrix of a batch.

`Batch` serves one operation, in this order: copy operands to where routines can work on them
(`columns`, `copied`), make room for results (`room`), `call` routines, and take the results
(`matrix`, `vector`), once each: what has become an array must not be written any more. Matrices
are stored by columns in between.

Rules kept by `call`:

- No routine sees a dimension of 0 among those in `unless_empty`; its arrays stay as they were.
- No routine sees a number that its 32-bit integers cannot hold: that is an error of the call.
- A workspace is asked for (`lwork = -1`) and allocated once for the whole batch.

Routines report failures in `info`. As in JAX, results of a failed routine are NaN (`failed`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from diastase_mlir.bindings import ir
from diastase_mlir.bindings.pass_pipeline import PassError
from diastase_mlir.emit.buffers import allocate, as_tensor, filled
from diastase_mlir.emit.library_calls import SITE
from diastase_mlir.emit.loops import for_range, when
from diastase_mlir.emit.operations import (
    all_of,
    compare_integers,
    create,
    enumeration,
    index_binary,
    index_constant,
    integer_type,
    negate,
    scalar_constant,
    select,
    to_signless,
)
from diastase_mlir.emit.tensors import (
    Size,
    element_type,
    extract,
    generate,
    product,
    sizes_of,
)
from diastase_mlir.passes.buffers.matmul_to_blas.routines import PREFIXES
from diastase_mlir.passes.memory import load, pointer_type, store, word, word_type
from diastase_mlir.passes.operations import SCOPE, Signatures, call_imported, to_index
from diastase_mlir.passes.runtime.linear_algebra.arguments import (
    Argument,
    Array,
    Number,
    Slots,
    Special,
    pointer_into,
    real_type,
)
from diastase_runtime.abi import ErrorCode, ImportedLibrary, import_symbol

COMPLEX_NAMES = {"syevd": "heevd", "sytrd": "hetrd", "orgqr": "ungqr", "ormqr": "unmqr"}
"""Routines that have another name for complex matrices."""

LARGEST = 2**31 - 1
"""What an integer of LAPACK can hold."""

ALONE = 256
"""Up to such sizes a routine runs on one thread: OpenBLAS's threads wait for each other without
letting go of the processor, and on a busy computer a problem of 1 ms so takes 300."""

Position = list[ir.Value]
Guard = Callable[[Size], ir.Value]


class Batch:
    """One operation on a batch of matrices (of one matrix, where there are no leading axes)."""

    def __init__(self, operation: Any, config: Any, declared: Signatures, rank: int = 2):
        self._operation, self._declared = operation, declared
        sizes = sizes_of(operation.operands[0])
        self.sizes = sizes[: len(sizes) - rank]
        self.core = sizes[len(sizes) - rank :]
        """Sizes of one array of the first operand."""
        self.element = element_type(operation.operands[0])
        self.real = real_type(self.element)
        self.is_complex = self.element != self.real
        self._config = config
        self.results = list(operation.results)
        self.checks: list[ir.Operation] = []
        """Operations of the `runtime` dialect that were emitted."""
        self._info: Array | None = None

    # --- into memory -----------------------------------------------------------------------------

    def columns(self, operand: ir.Value) -> Array:
        """A copy of a matrix, stored by columns."""
        tensor = to_signless(operand)
        *batch, rows, columns = sizes_of(tensor)

        def at(position: Position) -> ir.Value:
            return extract(tensor, _swapped(position))

        return self.stored([*batch, columns, rows], element_type(tensor), at)

    def copied(self, operand: ir.Value) -> Array:
        """A copy of a vector."""
        tensor = to_signless(operand)
        return Array(filled(tensor), product(sizes_of(tensor)[len(self.sizes) :]))

    def stored(
        self, sizes: Sequence[Size], element: ir.Type, formula: Callable[[Position], ir.Value]
    ) -> Array:
        """An array by formula."""
        tensor = generate(list(sizes), element, formula)
        return Array(filled(tensor), product(list(sizes)[len(self.sizes) :]))

    def room(self, *sizes: Size, element: ir.Type | None = None) -> Array:
        """Space for an array; for a matrix: columns, then rows."""
        buffer = allocate([*self.sizes, *sizes], element or self.element)
        return Array(buffer, product(sizes))

    def scratch(self, size: Size, element: ir.Type | None = None) -> Array:
        """Space for an array that all matrices of the batch share."""
        return Array(allocate([size], element or self.element), 0)

    # --- calls -----------------------------------------------------------------------------------

    def call(
        self,
        name: str,
        *arguments: Argument,
        unless_empty: Sequence[Size],
        library: ImportedLibrary = "lapack",
        guard: Guard | None = None,
    ) -> None:
        """Call a routine for each matrix; where `guard` of its number is false, it has failed.

        LAPACK's last argument says whether it has; it is added here.
        """
        if 0 in [size for size in unless_empty if isinstance(size, int)]:
            return
        self._reports()  # before any region
        if library == "lapack":
            arguments = (*arguments, Special.INFO)
        name = COMPLEX_NAMES.get(name, name) if self.is_complex else name
        routine = partial(self.call_imported, library, PREFIXES[str(self.element)] + name)
        zero = index_constant(0)
        conditions = [
            compare_integers("sgt", size, zero)
            for size in unless_empty
            if not isinstance(size, int)
        ]
        conditions += self._fitting(name, arguments)
        emit = _Call(self, routine, arguments, unless_empty, guard).emit
        if conditions:
            when(SCOPE, all_of(conditions), emit)
        else:
            emit()

    def _reports(self) -> Array:
        """Where routines say whether they succeeded: 0 if none is called."""
        if self._info is None:
            zero = scalar_constant(integer_type(32), 0)
            self._info = Array(filled(generate(self.sizes, zero.type, lambda _: zero)), 1)
        return self._info

    def _fitting(self, name: str, arguments: Sequence[Argument]) -> list[ir.Value]:
        """Conditions under which all sizes fit the routine's integers; else, an error."""
        conditions: list[ir.Value] = []
        for argument in arguments:
            if isinstance(argument, int) and argument > LARGEST:
                reason = f"LAPACK's {name} takes no sizes above {LARGEST}, here {argument}"
                raise PassError(reason, self._operation.location)
            if isinstance(argument, ir.Value):
                conditions.append(self.fits(argument))
        return conditions

    def fits(self, size: ir.Value) -> ir.Value:
        """Whether LAPACK's integers can hold a size; an error is recorded if not."""
        fits = compare_integers("sle", size, index_constant(LARGEST))
        number = create("arith.index_cast", [word_type()], [size]).result
        details = [number, word(LARGEST)]
        self.record(negate(fits), ErrorCode.SIZE_TOO_LARGE, details)
        return fits

    def record(self, failed: ir.Value, code: ErrorCode, details: Sequence[ir.Value]) -> None:
        """Record an error of the call, if a flag says so."""
        attributes = {
            "code": enumeration(code),
            "site": self._config[SITE],
            "leave": ir.StringAttr.get("no"),
        }
        self.checks.append(create("runtime.check", [], [failed, *details], attributes))

    def call_imported(
        self, library: ImportedLibrary, name: str, operands: Sequence[ir.Value] = ()
    ) -> None:
        """Call a function of a library, which is declared at the end."""
        call_imported(self._declared, import_symbol(library, name), operands)

    def option(self, name: str) -> Any:
        """A parameter: a flag or a word."""
        value = self._config[name]
        if isinstance(value, ir.StringAttr):
            return value.value
        return ir.BoolAttr(value).value if isinstance(value, ir.BoolAttr) else str(value)

    def argument(self, argument: Argument, number: Size) -> ir.Value:
        """The pointer for an argument that is an array, or none at all."""
        if argument is Special.INFO:
            return pointer_into(self._reports(), number)
        if argument is Special.NULL:
            return create("llvm.mlir.zero", [pointer_type()]).result
        assert isinstance(argument, Array)
        return pointer_into(argument, number)

    # --- results ---------------------------------------------------------------------------------

    def failed(self) -> ir.Value:
        """For each matrix whether its routine failed, as an array of `i32`; to be asked once."""
        return as_tensor(self._reports().buffer)

    def matrix(self, array: Array, failed: ir.Value | None = None) -> ir.Value:
        """A matrix stored by columns, as an array."""
        tensor = as_tensor(array.buffer)
        *batch, columns, rows = sizes_of(tensor)

        def at(position: Position) -> ir.Value:
            return self.nan_where(failed, position, extract(tensor, _swapped(position)))

        return generate([*batch, rows, columns], element_type(tensor), at)

    def vector(self, array: Array, failed: ir.Value | None = None) -> ir.Value:
        """A vector as an array."""
        tensor = as_tensor(array.buffer)
        if failed is None:
            return tensor

        def at(position: Position) -> ir.Value:
            return self.nan_where(failed, position, extract(tensor, position))

        return generate(sizes_of(tensor), element_type(tensor), at)

    def nan_where(self, failed: ir.Value | None, position: Position, value: ir.Value) -> ir.Value:
        """NaN in place of an element of a matrix whose routine failed."""
        if failed is None:
            return value
        info = extract(failed, position[: len(self.sizes)])
        succeeded = compare_integers("eq", info, scalar_constant(info.type, 0))
        nan = complex("nan+nanj") if isinstance(value.type, ir.ComplexType) else float("nan")
        return select(succeeded, value, scalar_constant(value.type, nan))


def _swapped(position: Position) -> Position:
    return [*position[:-2], position[-1], position[-2]]


class _Call:
    """One call of a routine for all matrices of a batch, emitted where it is certain to run."""

    def __init__(
        self,
        batch: Batch,
        routine: Callable[[list[ir.Value]], None],
        arguments: Sequence[Argument],
        sizes: Sequence[Size],
        guard: Guard | None,
    ):
        self._batch, self._routine, self._guard = batch, routine, guard
        self._arguments, self._sizes = arguments, sizes

    def emit(self) -> None:
        """Store the arguments, get a workspace if one is wanted, and call."""
        batch = self._batch
        self._slots = Slots(len(self._arguments))
        for slot, argument in enumerate(self._arguments):
            if isinstance(argument, (int, str, ir.Value, Number)):
                self._slots.store(slot, argument, batch.element)
        self._workspace: Array | None = None
        if Special.LWORK not in self._arguments:
            self._for_all()
            return
        size = self._ask_for_workspace()
        fits = batch.fits(size)

        def with_workspace() -> None:
            self._slots.store(self._arguments.index(Special.LWORK), size, batch.element)
            self._workspace = batch.scratch(size)
            self._for_all()

        when(SCOPE, fits, with_workspace)

    def _for_all(self) -> None:
        """Call for each matrix; nothing in between can leave the program."""
        if any(isinstance(size, int) and size > ALONE for size in self._sizes):
            self._one_by_one()
            return
        conditions = [
            compare_integers("sle", size, index_constant(ALONE))
            for size in self._sizes
            if not isinstance(size, int)
        ]
        small = all_of(conditions) if conditions else None
        self._tell_threads("blas_begin", small)
        self._one_by_one()
        self._tell_threads("blas_end", small)

    def _tell_threads(self, function: str, condition: ir.Value | None) -> None:
        """One thread from here on, or as many as before."""
        if condition is None:
            self._batch.call_imported("threads", function)
        else:
            when(SCOPE, condition, lambda: self._tell_threads(function, None))

    def _one_by_one(self) -> None:
        batch = self._batch
        count = product(batch.sizes)
        if count == 1:
            self._guarded(0)
            return

        def iteration(number: ir.Value, _: Any) -> list[ir.Value]:
            self._guarded(number)
            return []

        for_range(SCOPE, (0, count, 1), [], iteration)

    def _guarded(self, number: Size) -> None:
        """Call for one matrix, if it may be handed to the routine."""
        if self._guard is None:
            self._call(number)
            return
        proceed = self._guard(number)
        when(SCOPE, proceed, lambda: self._call(number))

        def fail() -> None:
            failure = scalar_constant(integer_type(32), -1)
            store(failure, self._batch.argument(Special.INFO, number))

        when(SCOPE, negate(proceed), fail)

    def _call(self, number: Size) -> None:
        self._routine([self._pointer(slot, number) for slot in range(len(self._arguments))])

    def _pointer(self, slot: int, number: Size) -> ir.Value:
        argument = self._arguments[slot]
        if isinstance(argument, Array) or argument in (Special.INFO, Special.NULL):
            return self._batch.argument(argument, number)
        if argument is Special.WORK and self._workspace is not None:
            return pointer_into(self._workspace, 0)
        return self._slots.pointer(slot)

    def _ask_for_workspace(self) -> ir.Value:
        """Call with a size of -1: the routine writes how much it wants where its workspace is."""
        batch, length = self._batch, self._arguments.index(Special.LWORK)
        self._slots.store(length, index_constant(-1), batch.element)
        self._call(0)
        answer = self._slots.pointer(self._arguments.index(Special.WORK))
        number = create("arith.fptosi", [word_type()], [load(batch.real, answer)]).result
        return index_binary("maxsi", to_index(number), index_constant(1))


def one_less(batch: Batch, size: Size) -> Size:
    """One less than a size that must not be 0: of what stands beside a diagonal."""
    if isinstance(size, int):
        return size - 1
    empty = compare_integers("sle", size, index_constant(0))
    batch.record(empty, ErrorCode.NEGATIVE_SIZE, [word(-1), word(0)])
    return index_binary("maxsi", index_binary("subi", size, index_constant(1)), index_constant(0))
