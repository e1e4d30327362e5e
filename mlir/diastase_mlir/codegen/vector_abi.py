"""What tells LLVM's loop vectoriser that an elementary function has forms for vectors.

In: the declaration of an elementary function. Out: LLVM IR text in which the function, and each of
its vector forms, calls through the import table; the function names its forms in the attribute
that the vectoriser reads, as Vector Function ABI variants of LLVM's own kind:

    "vector-function-abi-variant"="_ZGV_LLVM_N8v_exp_f64(exp_f64x8)"

None is inlined: a call through a pointer is nothing that the vectoriser knows. It looks for the
forms in the module, where nothing calls them before, so they are listed in `@llvm.compiler.used`.
On processors without vector forms the function is the C library's.
"""

import re
from collections.abc import Callable

from diastase_runtime.abi import IMPORT_TABLE, Import, import_symbol
from diastase_toolchain.machine_code import register_bits, widths

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
        _caller(_ELEMENTS[kind], arguments, imported, slot(imported), attribute),
        *(
            _caller(f"<{lanes} x {_ELEMENTS[kind]}>", arguments, form, slot(form), "")
            for lanes, name in forms
            for form in (Import("elementary", name),)
        ),
    ]


_C_FUNCTION = re.compile(r"^  %result = tail call (?P<type>\w+) @(?P<name>\w+)\(", re.M)


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


def _caller(kind: str, arguments: int, imported: Import, index: int, attribute: str) -> str:
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
