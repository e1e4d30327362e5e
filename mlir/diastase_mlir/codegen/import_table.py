"""The import table: how compiled code reaches the engine and Python without undefined symbols.

In comes LLVM IR text in which imported functions are declarations named by `abi.import_symbol`
(with `_mlir_ciface_` in front where they take memref descriptors by pointer); out goes text in
which each is an internal function that loads its pointer from the table and calls it, and the
table's entries in order. The loader fills the table before the first call and never changes it
afterwards, hence `!invariant.load`: the optimiser may keep a pointer across calls.

    declare ptr @diastase_import__engine__state_create(ptr, i64)
    ->
    define internal ptr @diastase_import__engine__state_create(ptr %0, i64 %1) alwaysinline {
      %function = load ptr, ptr @diastase_import_table, !invariant.load !{}
      %result = tail call ptr %function(ptr %0, i64 %1)
      ret ptr %result
    }

A callback's entry is the Python function itself: its stub calls `call_back` of the thread pool's
library with it, and with its arguments after the first two as an array.

Elementary functions are not inlined, and come with forms for vectors (`codegen.vector_abi`).
"""

import re
from typing import NamedTuple, cast

from diastase_mlir.codegen.vector_abi import declared, kept, vector_forms, with_widest_vectors
from diastase_runtime.abi import IMPORT_TABLE, Import, ImportedLibrary, import_symbol

_CALL_BACK = Import("threads", "call_back")
_PREFIX = import_symbol(cast("ImportedLibrary", "(?P<library>[a-z]+)"), "(?P<name>\\w+)")
_DECLARATION = re.compile(
    rf"^declare (?P<result>[^@\n]+?) @(?P<symbol>(?:_mlir_ciface_)?{_PREFIX})"
    r"\((?P<arguments>[^()\n]*)\)[^\n]*$",
    re.MULTILINE,
)


class LinkedText(NamedTuple):
    """LLVM IR text without undefined symbols of ours, and what its import table holds."""

    text: str
    imports: tuple[Import, ...]


def link_imports(text: str) -> LinkedText:
    """Replace each declaration of an imported function by a stub that calls through the table."""
    table: dict[Import, int] = {}
    forms: list[str] = []

    def slot(entry: Import) -> int:
        return table.setdefault(entry, len(table))

    def stub(match: re.Match[str]) -> str:
        entry = Import(cast("ImportedLibrary", match["library"]), match["name"])
        if entry.library == "callback":
            return _callback_stub(match, slot(entry), slot(_CALL_BACK))
        if entry.library != "elementary":
            return _stub(match, slot(entry))
        before = len(table)
        definitions = vector_forms(entry, len(match["arguments"].split(",")), slot)
        forms.extend(import_symbol(form.library, form.name) for form in [*table][before + 1 :])
        return "\n".join(definitions)

    text = _DECLARATION.sub(stub, text)
    if forms:
        text = with_widest_vectors(text)
    text += kept(forms) + declared(text)
    if table:
        text += f"\n@{IMPORT_TABLE} = global [{len(table)} x ptr] zeroinitializer, align 8\n"
    return LinkedText(text, tuple(table))


def _stub(declaration: re.Match[str], index: int) -> str:
    """Write the function that stands in for one declaration."""
    result = declaration["result"].removeprefix("noundef ")
    parameters = ", ".join(_parameters(declaration))
    value, returned = ("", "ret void") if result == "void" else ("%result = ", "")
    returned = returned or f"ret {result} %result"
    return (
        f"define internal {result} @{declaration['symbol']}({parameters}) alwaysinline {{\n"
        f"{_load('function', index)}"
        f"  {value}tail call {result} %function({parameters})\n"
        f"  {returned}\n"
        f"}}"
    )


def _callback_stub(declaration: re.Match[str], callback: int, call_back: int) -> str:
    """Write the function that calls Python: `(CallContext*, i64 site, descriptor*…) -> ()`."""
    context, site, *descriptors = _parameters(declaration)
    room = f"[{len(descriptors)} x ptr]"
    stores = "".join(
        f"  %at{number} = getelementptr ptr, ptr %descriptors, i64 {number}\n"
        f"  store {descriptor}, ptr %at{number}, align 8\n"
        for number, descriptor in enumerate(descriptors)
    )
    # No tail call: it could not see the array.
    return (
        f"define internal void @{declaration['symbol']}"
        f"({', '.join([context, site, *descriptors])}) alwaysinline {{\n"
        f"  %descriptors = alloca {room}, align 8\n"
        f"{stores}"
        f"{_load('callback', callback)}"
        f"{_load('function', call_back)}"
        f"  call void %function({context}, {site}, ptr %callback, ptr %descriptors)\n"
        f"  ret void\n"
        f"}}"
    )


def _parameters(declaration: re.Match[str]) -> list[str]:
    types = [kind.split()[0] for kind in declaration["arguments"].split(",") if kind.strip()]
    return [f"{kind} %{number}" for number, kind in enumerate(types)]


def _load(name: str, index: int) -> str:
    """Load an entry of the table."""
    return (
        f"  %{name}.slot = getelementptr ptr, ptr @{IMPORT_TABLE}, i64 {index}\n"
        f"  %{name} = load ptr, ptr %{name}.slot, align 8, !invariant.load !{{}}\n"
    )
