"""LLVM IR text whose accesses to memory are checked by a sanitizer's library (`checked`).

In: text of a program or of kernels, before it is optimised, so that no access has gone yet. Out:
the same with a call before each load, store and copy. GCC has the libraries, but LLVM's own passes
that write such calls are not within reach of llvmlite. With AddressSanitizer

* the place of an access must be a multiple of the alignment that it says, else the process ends;
* arrays on the stack get 64 bytes around them that nobody may touch, and are filled with bytes of
  255, which are not a number, as memory from `malloc` is (`FILLED`): what is read before it is
  written is seen in the result.

With ThreadSanitizer atomic operations become its own, which is how it knows what orders threads.

Variables, each on the stack by itself and read by its name, are not checked: they become registers.
The trap: lines of text are all that is known, so each instruction must stand on one line, as both
llvmlite and MLIR print it.
"""

import re
from collections.abc import Iterator

from diastase_toolchain.checked.definitions import Sanitizer, definitions

FILLED = "max_malloc_fill_size=1073741824:malloc_fill_byte=255"
"""Options of AddressSanitizer's (`ASAN_OPTIONS`)."""

_BYTES = {
    "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "i128": 16,
    "half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8,
}  # fmt: skip
_BITS = {"i1": 1} | {kind: 8 * size for kind, size in _BYTES.items() if kind != "i1"}
_VECTOR = re.compile(r"<(\d+) x (\w+)>")

_DEFINITION = re.compile(r'define [^@]*@("[^"]+"|[\w.$-]+)\(')
_GUARD = re.compile(r'declare void @"diastase_(?:index|product|shift)"')
_SLOT = re.compile(r"  (?P<name>%\S+) = alloca (?P<kind>i\d+|double|float|half|ptr|<[^>]*>)"
                   r"(?:, align \d+)?$")  # fmt: skip
_ROOM = re.compile(
    r"  (?P<name>%\S+) = alloca (?P<kind>.+?)(?:, i64 (?P<count>\S+?))?(?:, align (?P<align>\d+))?$"
)
_LOAD = re.compile(r"  %\S+ = load (?P<atomic>atomic )?(?:volatile )?(?P<rest>.*)")
_STORE = re.compile(r"  store (?:volatile )?(?P<rest>.*)")
_COPY = re.compile(
    r"  (?:tail )?call void @llvm\.(?P<what>memcpy|memmove|memset)\.[\w.]+\((?P<rest>.*)\)"
)
_MASKED = re.compile(
    r"  %\S+ = (?:tail )?call (?P<kind><\d+ x \w+>) @llvm\.masked\.load\.[\w.]+\((?P<rest>.*)\)"
)
_EXCHANGE = re.compile(
    r"  (?P<name>%\S+) = atomicrmw (?P<what>add|xchg) ptr (?P<place>\S+), "
    r"i64 (?P<value>\S+) seq_cst"
)
_COMPARE = re.compile(
    r"  (?P<name>%\S+) = cmpxchg ptr (?P<place>\S+), i64 (?P<old>\S+), i64 (?P<new>\S+) seq_cst"
)
_ATOMIC_LOAD = re.compile(r"  (?P<name>%\S+) = load atomic i64, ptr (?P<place>\S+) seq_cst")
_RETURN = re.compile(r"  ret( |$)")
_ORDER = "i32 5"
"""Sequentially consistent, as a number."""

_ZONE = 64
"""Bytes on each side of an array on the stack."""


def instrumented(text: str, sanitizer: Sanitizer) -> str:
    """Put a call before each access, and define what is called."""
    body = "\n".join(_Instrumenter(sanitizer).lines(text))
    return body + definitions(body, sanitizer)


class _Instrumenter:
    """One pass over the lines of a module; what it knows is of the function that it is in."""

    def __init__(self, sanitizer: Sanitizer):
        self._sanitizer: Sanitizer = sanitizer
        self._slots: set[str] = set()
        self._rooms: list[str] = []
        self._in_first_block = self._begins = False
        self._number = 0

    def lines(self, text: str) -> Iterator[str]:
        for line in text.split("\n"):
            if line.startswith("define "):
                self._slots, self._rooms = set(), []
                self._in_first_block = self._begins = True
                yield _unwindable(line)
            elif _GUARD.match(line):
                continue  # which is defined here
            elif line.startswith("  ") and line[2:3] not in "};":
                yield from self._instruction(line)
            else:
                yield line

    def _instruction(self, line: str) -> Iterator[str]:
        if self._begins:
            self._begins = False
            yield from self._entered()
        if " = alloca " in line:
            yield from self._allocated(line)
            return
        yield from self._checks(line)
        if _RETURN.match(line):
            yield from self._left()
        yield from self._atomic(line) if self._sanitizer == "threads" else (line,)
        if line.startswith(("  br ", "  switch ", "  ret ")):
            self._in_first_block = False

    # --- functions, and what is on their stack ----------------------------------------------------

    def _entered(self) -> Iterator[str]:
        if self._sanitizer == "threads":
            yield "  %diastase.caller = call ptr @llvm.returnaddress(i32 0)"
            yield "  call void @__tsan_func_entry(ptr %diastase.caller)"

    def _left(self) -> Iterator[str]:
        if self._sanitizer == "threads":
            yield "  call void @__tsan_func_exit()"
        for room in self._rooms:
            size = f"%diastase.size.{room}"
            room = f"%diastase.room.{room}"
            yield f"  call void @__asan_unpoison_memory_region(ptr {room}, i64 {size})"

    def _allocated(self, line: str) -> Iterator[str]:
        """A variable as it is; anything else with room around it, if it is there to the end."""
        slot, room = _SLOT.match(line), _ROOM.match(line)
        if slot is not None:
            self._slots.add(slot["name"])
        if slot is not None or room is None or not self._in_first_block:
            yield line
            return
        if self._sanitizer == "threads":
            yield line
            return
        self._number += 1
        own, size = str(self._number), size_of(room["kind"])
        self._rooms.append(own)
        names = {
            what: f"%diastase.{what}.{own}" for what in ("bytes", "size", "room", "end", "cleared")
        }
        alignment = max(int(room["align"] or 16), 16)
        before = max(_ZONE, alignment)
        yield f"  {names['bytes']} = mul i64 {room['count'] or 1}, {size}"
        yield f"  {names['size']} = add i64 {names['bytes']}, {before + _ZONE}"
        yield f"  {names['room']} = alloca i8, i64 {names['size']}, align {alignment}"
        yield f"  {room['name']} = getelementptr i8, ptr {names['room']}, i64 {before}"
        yield f"  {names['end']} = getelementptr i8, ptr {room['name']}, i64 {names['bytes']}"
        poison = "  call void @__asan_poison_memory_region"
        yield f"{poison}(ptr {names['room']}, i64 {before})"
        yield f"{poison}(ptr {names['end']}, i64 {_ZONE})"
        yield (
            f"  {names['cleared']} = call ptr @__asan_memset("
            f"ptr {room['name']}, i32 255, i64 {names['bytes']})"
        )

    # --- accesses ---------------------------------------------------------------------------------

    def _checks(self, line: str) -> Iterator[str]:
        """The calls before an instruction."""
        if (load := _LOAD.match(line)) and not (load["atomic"] and self._sanitizer == "threads"):
            kind, place, *rest = top_level_parts(load["rest"])
            yield from self._check("read", place, size_of(kind), _alignment(kind, rest))
        elif store := _STORE.match(line):
            value, place, *rest = top_level_parts(store["rest"])
            kind = _leading_type(value)
            yield from self._check("write", place, size_of(kind), _alignment(kind, rest))
        elif copy := _COPY.match(line):
            target, source, count, *_ = top_level_parts(copy["rest"])
            size = count.removeprefix("i64 ")
            yield from self._check("write", target, size, 1)
            if copy["what"] != "memset":
                yield from self._check("read", source, size, 1)
        elif masked := _MASKED.match(line):
            yield from self._lanes(masked["kind"], *top_level_parts(masked["rest"])[:2])
        elif self._sanitizer == "address" and (
            atomic := _EXCHANGE.match(line) or _COMPARE.match(line)
        ):
            yield from self._check("write", f"ptr {atomic['place']}", "8", 8)

    def _check(self, what: str, place: str, size: str, alignment: int) -> Iterator[str]:
        pointer = _pointer(place)
        if pointer not in self._slots:
            arguments = f"ptr {pointer}, i64 {size}, i64 {alignment}"
            yield f"  call void @diastase_{what}({arguments})"

    def _lanes(self, kind: str, place: str, mask: str) -> Iterator[str]:
        """Of a load that reads some lanes of a vector only: those."""
        vector = _VECTOR.fullmatch(kind)
        assert vector is not None
        self._number += 1
        bits, lanes = f"%diastase.bits.{self._number}", f"%diastase.lanes.{self._number}"
        count = int(vector[1])
        yield f"  {bits} = bitcast {mask} to i{count}"
        yield f"  {lanes} = zext i{count} {bits} to i64"
        size = _BYTES[vector[2]]
        yield f"  call void @diastase_read_lanes(ptr {_pointer(place)}, i64 {lanes}, i64 {size})"

    def _atomic(self, line: str) -> Iterator[str]:
        """An instruction as it is, or an atomic one as ThreadSanitizer's."""
        if exchange := _EXCHANGE.match(line):
            what = {"add": "fetch_add", "xchg": "exchange"}[exchange["what"]]
            operands = f"ptr {exchange['place']}, i64 {exchange['value']}, {_ORDER}"
            yield f"  {exchange['name']} = call i64 @__tsan_atomic64_{what}({operands})"
        elif compare := _COMPARE.match(line):
            self._number += 1
            found = f"%diastase.found.{self._number}"
            operands = f"ptr {compare['place']}, i64 {compare['old']}, i64 {compare['new']}"
            function = "@__tsan_atomic64_compare_exchange_val"
            yield f"  {found} = call i64 {function}({operands}, {_ORDER}, {_ORDER})"
            # Nobody asks for the second part, whether they were equal.
            yield f"  {compare['name']} = insertvalue {{i64, i1}} zeroinitializer, i64 {found}, 0"
        elif load := _ATOMIC_LOAD.match(line):
            operands = f"ptr {load['place']}, {_ORDER}"
            yield f"  {load['name']} = call i64 @__tsan_atomic64_load({operands})"
        else:
            yield line


def _unwindable(definition: str) -> str:
    """The first line of a function, which a sanitizer's report shall find its way through."""
    attributes = ' uwtable "frame-pointer"="all"'
    head, brace, _ = definition.rpartition("{")
    if brace:
        return f"{head.rstrip()}{attributes} {{"
    return definition + attributes


def size_of(kind: str) -> str:
    """Bytes of a type, as a number or a constant expression."""
    if kind in _BYTES:
        return str(_BYTES[kind])
    vector = _VECTOR.fullmatch(kind)
    if vector is not None and vector[2] in _BITS:
        return str((int(vector[1]) * _BITS[vector[2]] + 7) // 8)
    return f"ptrtoint (ptr getelementptr ({kind}, ptr null, i64 1) to i64)"


def _alignment(kind: str, rest: list[str]) -> int:
    """What an access says, or what numbers have by themselves."""
    for part in rest:
        if part.startswith("align "):
            return int(part.removeprefix("align "))
    return _BYTES.get(kind, 1)


def _leading_type(value: str) -> str:
    """The type at the beginning of a typed value."""
    depth = 0
    for place, character in enumerate(value):
        depth += (character in "<{[") - (character in ">}]")
        if depth == 0 and character == " ":
            kind = value[:place]
            return "ptr" if kind.endswith("*") else kind  # llvmlite prints both kinds
    raise ValueError(f"no type: {value}")


def _pointer(operand: str) -> str:
    """The address in a pointer operand: without its attributes, and the order of an atomic one."""
    name = re.sub(r"^(?:ptr|[^(%@]*\*) ", "", operand)  # llvmlite prints both kinds
    name = re.sub(
        r"^(?:(?:align \d+|noalias|nonnull|noundef|readonly|captures\(none\)) )+", "", name
    )
    return re.sub(r" (?:seq_cst|acquire|release|monotonic|unordered)$", "", name)


def top_level_parts(text: str) -> list[str]:
    """What stands between the commas that are not inside of brackets or quotes."""
    parts, depth, quoted, start = list[str](), 0, False, 0
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character in "<{[(") - (character in ">}])")
            if character == "," and depth == 0:
                parts.append(text[start:place].strip())
                start = place + 1
    return [*parts, text[start:].strip()]
