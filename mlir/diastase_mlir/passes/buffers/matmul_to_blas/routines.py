"""Functions that a program calls for BLAS: `diastase_dgemm` and its like, made where first used.

They take their arguments by value and put into memory what Fortran wants there; what they keep on
the stack is gone when they return, so calls may stand in loops. `diastase_dgemm` compares the size
of the product with what BLAS itself takes for worth a thread. A small one is one call
(`diastase_direct_dgemm`), which does not wake BLAS's threads either. A large one is shared out
among the threads of our pool, which calls `diastase_part_dgemm` for ranges of the columns, or of
the rows, of the result (as BLAS sees it), whichever there are more of; BLAS runs on one thread
meanwhile (`diastase_engine/threads/blas.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from diastase_mlir.bindings import func, ir
from diastase_mlir.passes.operations import name_of
from diastase_runtime.abi import import_symbol

PREFIXES = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}
"""First letter of a routine's name, by the type of its matrices."""


def call_routine(
    module: ir.Module,
    name: str,
    element: ir.Type,
    arguments: Sequence[ir.Value],
    work: Sequence[int] | None,
) -> None:
    """Call a routine; letters are `i8`, sizes `i64`, numbers real, arrays pointers.

    `work`: the sizes whose product is the number of multiplications, if all are known.
    """
    routine = PREFIXES[str(element)] + name
    is_small = work is not None and prod(work) <= LIMITS[name]
    symbol = f"diastase_direct_{routine}" if is_small else f"diastase_{routine}"
    if symbol not in _symbols(module):
        _define(module, definitions(name, routine, str(element), is_small=is_small))
    func.CallOp([], ir.FlatSymbolRefAttr.get(symbol), list(arguments))


def _define(module: ir.Module, text: str) -> None:
    """Add the functions of a text that the module does not have."""
    known, made = _symbols(module), ir.Module.parse(text)
    with ir.InsertionPoint(module.body):
        for operation in made.body.operations:
            if name_of(operation) not in known:
                operation.operation.clone()


def _symbols(module: ir.Module) -> set[str]:
    return {name_of(operation) for operation in module.body.operations}


# --- their text -----------------------------------------------------------------------------------


_TYPES = {"letter": "i8", "size": "i64", "array": "!llvm.ptr"}


@dataclass(frozen=True)
class _Routine:
    """A routine's parameters, and how its result is divided."""

    parameters: tuple[tuple[str, str], ...]
    """Names and kinds."""
    work: tuple[str, ...]
    """Sizes whose product is compared with `limit`."""
    limit: float
    least: int
    """Rows or columns that are worth a part."""
    division: str
    """How many parts there can be (`%count`), by these names."""
    part: str
    """The arguments of a part that differ, as `%m_part` and so on."""


_GEMM = _Routine(
    parameters=(
        ("ta", "letter"), ("tb", "letter"), ("m", "size"), ("n", "size"), ("k", "size"),
        ("alpha", "number"), ("a", "array"), ("lda", "size"), ("b", "array"), ("ldb", "size"),
        ("beta", "number"), ("c", "array"), ("ldc", "size"),
    ),
    work=("m", "n", "k"),
    limit=65536 * 4,
    least=32,
    division="%count = arith.maxsi %m, %n : i64",
    part="""
  %by_column = arith.cmpi sge, %n, %m : i64
  %plain_a = arith.cmpi eq, %ta, %letter_n : i8
  %plain_b = arith.cmpi eq, %tb, %letter_n : i8
  %row_a = arith.select %plain_a, %one, %lda : i64
  %column_b = arith.select %plain_b, %ldb, %one : i64
  %step_a = arith.select %by_column, %zero, %row_a : i64
  %step_b = arith.select %by_column, %column_b, %zero : i64
  %step_c = arith.select %by_column, %ldc, %one : i64
  %m_part = arith.select %by_column, %m, %length : i64
  %n_part = arith.select %by_column, %length, %n : i64""",
)  # fmt: skip

_GEMV = _Routine(
    parameters=(
        ("t", "letter"), ("m", "size"), ("n", "size"), ("alpha", "number"), ("a", "array"),
        ("lda", "size"), ("x", "array"), ("incx", "size"), ("beta", "number"), ("c", "array"),
        ("incy", "size"),
    ),
    work=("m", "n"),
    limit=1024 * 4,
    least=128,
    division="""%letter_n = arith.constant 78 : i8
  %plain = arith.cmpi eq, %t, %letter_n : i8
  %count = arith.select %plain, %m, %n : i64""",
    part="""
  %plain = arith.cmpi eq, %t, %letter_n : i8
  %step_a = arith.select %plain, %one, %lda : i64
  %step_c = arith.addi %incy, %zero : i64
  %m_part = arith.select %plain, %length, %m : i64
  %n_part = arith.select %plain, %n, %length : i64""",
)  # fmt: skip

_ROUTINES = {"gemm": _GEMM, "gemv": _GEMV}


LIMITS = {name: routine.limit for name, routine in _ROUTINES.items()}
"""Multiplications up to which BLAS uses one thread, whatever it was told."""


def definitions(name: str, routine: str, element: str, *, is_small: bool) -> str:
    """A module with the functions and all that they call; `routine` is `dgemm`, say.

    `is_small`: only with the one that calls directly.
    """
    own = _ROUTINES[name]
    pointers = ", ".join(["!llvm.ptr"] * len(own.parameters))
    imported = f"func.func private @{import_symbol('blas', routine)}({pointers})"
    parts = [imported, _direct(own, routine, element)]
    if not is_small:
        shared = (_part(own, routine, element), _shared_out(own, routine, element))
        parts += [_declared_pool(), *shared]
    return "\n".join(parts)


def _declared_pool() -> str:
    threads = {
        "parallel_for": "(!llvm.ptr, !llvm.ptr, i64, i64)",
        "thread_count": "() -> i64",
        "blas_begin": "()",
        "blas_end": "()",
    }
    return "\n".join(
        f"func.func private @{import_symbol('threads', function)}{kind}"
        for function, kind in threads.items()
    )


def _types(routine: _Routine, element: str) -> list[str]:
    real = element.removeprefix("complex<").removesuffix(">")
    return [_TYPES.get(kind, real) for _, kind in routine.parameters]


def _header(routine: _Routine, element: str) -> str:
    kinds = zip(routine.parameters, _types(routine, element), strict=True)
    return ", ".join(f"%{name}: {kind}" for (name, _), kind in kinds)


def _direct(routine: _Routine, name: str, element: str) -> str:
    """What calls the routine, with a slot on the stack for each argument that is no array."""
    lines = ["%one = llvm.mlir.constant(1 : i64) : i64"]
    kinds = _types(routine, element)
    for (own, kind), given in zip(routine.parameters, kinds, strict=True):
        lines += _slot(own, kind, given, element.startswith("complex"))
    places = [f"%{own}" if kind == "array" else f"%{own}_slot" for own, kind in routine.parameters]
    pointers = ", ".join(["!llvm.ptr"] * len(places))
    symbol = import_symbol("blas", name)
    lines += [f"func.call @{symbol}({', '.join(places)}) : ({pointers}) -> ()", "func.return"]
    body = "\n  ".join(lines)
    return (
        f"func.func private @diastase_direct_{name}({_header(routine, element)}) {{\n  {body}\n}}"
    )


def _slot(own: str, kind: str, given: str, is_complex: bool) -> list[str]:
    if kind == "array":
        return []
    value, stored, lines = f"%{own}", given, list[str]()
    if kind == "size":
        value, stored = f"%{own}_short", "i32"
        lines.append(f"{value} = llvm.trunc %{own} : i64 to i32")
    has_two_parts = kind == "number" and is_complex
    room = f"!llvm.array<2 x {stored}>" if has_two_parts else stored
    lines.append(f"%{own}_slot = llvm.alloca %one x {room} : (i64) -> !llvm.ptr")
    lines.append(f"llvm.store {value}, %{own}_slot : {stored}, !llvm.ptr")
    if has_two_parts:
        lines += [
            f"%{own}_zero = llvm.mlir.constant(0.0 : {stored}) : {stored}",
            f"%{own}_next = llvm.getelementptr %{own}_slot[1] : (!llvm.ptr) -> !llvm.ptr, {stored}",
            f"llvm.store %{own}_zero, %{own}_next : {stored}, !llvm.ptr",
        ]
    return lines


def _part(routine: _Routine, name: str, element: str) -> str:
    """A body of the pool: the product for a range of rows or columns of the result."""
    kinds, number = _types(routine, element), element
    if element.startswith("complex"):
        number = f"!llvm.struct<({element[8:-1]}, {element[8:-1]})>"
    lines = [
        "%one = arith.constant 1 : i64",
        "%zero = arith.constant 0 : i64",
        "%letter_n = arith.constant 78 : i8",
        "%length = arith.subi %last, %first : i64",
    ]
    for place, ((own, _), kind) in enumerate(zip(routine.parameters, kinds, strict=True)):
        lines += [
            f"%{own}_place = llvm.getelementptr %given[0, {place}] : "
            f"(!llvm.ptr) -> !llvm.ptr, {_record(kinds)}",
            f"%{own} = llvm.load %{own}_place : !llvm.ptr -> {kind}",
        ]
    lines.append(routine.part.strip())
    changed = ["m", "n"]
    for array in ("a", "b", "c"):
        if f"%step_{array} " in routine.part:
            changed.append(array)
            lines += [
                f"%{array}_start = arith.muli %first, %step_{array} : i64",
                f"%{array}_part = llvm.getelementptr %{array}[%{array}_start] : "
                f"(!llvm.ptr, i64) -> !llvm.ptr, {number}",
            ]
    names = [f"%{own}_part" if own in changed else f"%{own}" for own, _ in routine.parameters]
    call = f"func.call @diastase_direct_{name}({', '.join(names)}) : ({', '.join(kinds)}) -> ()"
    body = "\n  ".join([*lines, call, "llvm.return"])
    header = "%given: !llvm.ptr, %first: i64, %last: i64, %worker: i64"
    return f"llvm.func internal @diastase_part_{name}({header}) {{\n  {body}\n}}"


def _shared_out(routine: _Routine, name: str, element: str) -> str:
    """The function that programs call."""
    kinds = _types(routine, element)
    names = [f"%{own}" for own, _ in routine.parameters]
    work = [f"%{own}_work = arith.uitofp %{own} : i64 to f64" for own in routine.work]
    product = f"%{routine.work[0]}_work"
    for own in routine.work[1:]:
        work.append(f"%{own}_product = arith.mulf {product}, %{own}_work : f64")
        product = f"%{own}_product"
    stores: list[str] = []
    for place, (given, kind) in enumerate(zip(names, kinds, strict=True)):
        stores += [
            f"{given}_place = llvm.getelementptr %given[0, {place}] : "
            f"(!llvm.ptr) -> !llvm.ptr, {_record(kinds)}",
            f"llvm.store {given}, {given}_place : {kind}, !llvm.ptr",
        ]
    call = f"func.call @diastase_direct_{name}({', '.join(names)}) : ({', '.join(kinds)}) -> ()"
    threads = {function: import_symbol("threads", function) for function in _POOL}
    arranged = {
        "symbol": f"diastase_{name}",
        "part": f"diastase_part_{name}",
        "header": _header(routine, element),
        "work": "\n  ".join(work),
        "product": product,
        "limit": f"{routine.limit:.1f}",
        "least": routine.least,
        "call": call,
        "record": _record(kinds),
        "stores": "\n    ".join(stores),
        "division": routine.division,
        **threads,
    }
    return _SHARED_OUT.format_map(arranged)


def _record(kinds: list[str]) -> str:
    inner = ", ".join(kind.removeprefix("!llvm.") for kind in kinds)
    return f"!llvm.struct<({inner})>"


_POOL = ("parallel_for", "thread_count", "blas_begin", "blas_end")

_SHARED_OUT = """
func.func private @{symbol}({header}) {{
  {work}
  %limit = arith.constant {limit} : f64
  %is_small = arith.cmpf ole, {product}, %limit : f64
  %one = arith.constant 1 : i64
  %given = llvm.alloca %one x {record} : (i64) -> !llvm.ptr
  scf.if %is_small {{
    {call}
  }} else {{
    {stores}
    {division}
    %two = arith.constant 2 : i64
    %eight = arith.constant 8 : i64
    %least = arith.constant {least} : i64
    %threads = func.call @{thread_count}() : () -> i64
    %twice = arith.muli %threads, %two : i64
    %share = arith.ceildivsi %count, %twice : i64
    %eighths = arith.ceildivsi %share, %eight : i64
    %even = arith.muli %eighths, %eight : i64
    %grain = arith.maxsi %even, %least : i64
    %part = llvm.mlir.addressof @{part} : !llvm.ptr
    func.call @{blas_begin}() : () -> ()
    func.call @{parallel_for}(%part, %given, %count, %grain)
      : (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
    func.call @{blas_end}() : () -> ()
  }}
  func.return
}}
"""
