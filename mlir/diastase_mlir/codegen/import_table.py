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

An elementary function names its forms for vectors in the attribute that LLVM's loop vectoriser
reads, as Vector Function ABI variants of LLVM's own kind:

    "vector-function-abi-variant"="_ZGV_LLVM_N8v_exp_f64(exp_f64x8)"

None is inlined: a call through a pointer is nothing that the vectoriser knows. It looks for the
forms in the module, where nothing calls them before, so they are listed in `@llvm.compiler.used`.
On processors without vector forms the function is the C library's.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, cast

from diastase_runtime.abi import IMPORT_TABLE, Import, ImportedLibrary, import_symbol
from diastase_toolchain.machine_code import register_bits, widths

_CALL_BACK = Import("threads", "call_back")
_LIBRARY = cast("ImportedLibrary", "(?P<library>[a-z]+(?:_[a-z]+)*)")
_PREFIX = import_symbol(_LIBRARY, "(?P<name>\\w+)")
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
        if _is_vector_form(entry):
            return ""  # defined with its function, which is declared as well
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


# --- elementary functions, and their forms for vectors ------------------------------------------

_ELEMENTS = {"f32": "float", "f64": "double"}


def vector_forms(imported: Import, arguments: int, slot: Callable[[Import], int]) -> list[str]:
    """Definitions of a function and its forms, the function first; `slot`: place in the table."""
    name, _, kind = imported.name.rpartition("_")
    if not widths(kind):
        return [_from_c_library(name, kind, arguments, import_symbol("elementary", imported.name))]
    forms = [(lanes, f"{imported.name}x{lanes}") for lanes in widths(kind)]
    scalar = import_symbol("elementary", imported.name)
    mangled = [
        f"_ZGV_LLVM_N{lanes}{'v' * arguments}_{scalar}({import_symbol('elementary', name)})"
        for lanes, name in forms
    ]
    attribute = f' "vector-function-abi-variant"="{",".join(mangled)}"'
    return [
        _vector_caller(_ELEMENTS[kind], arguments, imported, slot(imported), attribute),
        *(
            _vector_caller(f"<{lanes} x {_ELEMENTS[kind]}>", arguments, form, slot(form), "")
            for lanes, name in forms
            for form in (Import("elementary", name),)
        ),
    ]


_C_FUNCTION = re.compile(r"^  %result = tail call (?P<type>\w+) @(?P<name>\w+)\(", re.M)


def _is_vector_form(imported: Import) -> bool:
    """Whether a name is that of a form for vectors, say `exp_f64x8`."""
    return "x" in imported.name.rpartition("_")[2]


def declared(text: str) -> str:
    """Declarations of the C library's functions that only definitions of ours call."""
    found = {match["name"]: match["type"] for match in _C_FUNCTION.finditer(text)}
    return "".join(
        f"declare {kind} @{name}({kind}) nounwind willreturn memory(none)\n"
        for name, kind in found.items()
        if not re.search(rf"^declare [^\n]*@{name}\(", text, re.M)
    )


_DEFINITION = re.compile(r"^define (?!internal)[^\n]*(?=\{$)", re.M)


def with_widest_vectors(text: str) -> str:
    """Let loops use the widest registers there are, which pays where functions are computed.

    LLVM prefers half of them on processors with 512 bits, as if all loops waited for memory.
    """
    if 512 not in register_bits():
        return text
    return _DEFINITION.sub(lambda match: match[0] + '"prefer-vector-width"="512" ', text)


def kept(symbols: list[str]) -> str:
    """A list of functions that must not be removed before the vectoriser has seen them."""
    if not symbols:
        return ""
    entries = ", ".join(f"ptr @{symbol}" for symbol in symbols)
    return (
        f"@llvm.compiler.used = appending global [{len(symbols)} x ptr] [{entries}], "
        'section "llvm.metadata"\n'
    )


def _vector_caller(kind: str, arguments: int, imported: Import, index: int, attribute: str) -> str:
    parameters = ", ".join(f"{kind} %{number}" for number in range(arguments))
    return (
        f"define internal {kind} @{import_symbol(imported.library, imported.name)}({parameters})"
        f" noinline nounwind willreturn memory(none){attribute} {{\n"
        f"  %slot = getelementptr ptr, ptr @{IMPORT_TABLE}, i64 {index}\n"
        f"  %function = load ptr, ptr %slot, align 8, !invariant.load !{{}}\n"
        f"  %result = tail call {kind} %function({parameters})\n"
        f"  ret {kind} %result\n"
        f"}}"
    )


def _from_c_library(name: str, kind: str, arguments: int, symbol: str) -> str:
    element, function = _ELEMENTS[kind], name + ("f" if kind == "f32" else "")
    parameters = ", ".join(f"{element} %{number}" for number in range(arguments))
    return (
        f"define internal {element} @{symbol}({parameters}) alwaysinline {{\n"
        f"  %result = tail call {element} @{function}({parameters})\n"
        f"  ret {element} %result\n"
        f"}}"
    )
