"""Booleans in memory are bytes, which LLVM loads and stores in vectors; of `i1` it does not.

In: LLVM IR text as MLIR's LLVM prints it. Out: text without loads and stores of `i1`.

    %2 = load i1, ptr %1, align 1    ->    %byte.2 = load i8, ptr %1, align 1, !range !{i8 0, i8 2}
                                           %2 = trunc nuw i8 %byte.2 to i1
    store i1 %2, ptr %1, align 1     ->    %stored.0 = zext i1 %2 to i8
                                           store i8 %stored.0, ptr %1, align 1

An `i1` is kept in a byte of its own, 0 or 1, as before.
"""

import re
from itertools import count

_ACCESS = re.compile(
    r"^(?P<indent> *)(?:%(?P<loaded>\d+) = load|store) i1"
    r"(?: (?P<stored>%?\w+))?(?P<where>, ptr .*)$",
    re.MULTILINE,
)
_CONSTANTS = {"true": "1", "false": "0"}


def with_booleans_as_bytes(text: str) -> str:
    """Turn loads and stores of `i1` into those of bytes."""
    numbers = count()

    def replace(access: re.Match[str]) -> str:
        indent, loaded, stored, where = access.group("indent", "loaded", "stored", "where")
        if loaded is not None:
            byte = f"%byte.{loaded}"
            load = f"{byte} = load i8{where}, !range !{{i8 0, i8 2}}"
            return f"{indent}{load}\n{indent}%{loaded} = trunc nuw i8 {byte} to i1"
        if stored in _CONSTANTS:
            return f"{indent}store i8 {_CONSTANTS[stored]}{where}"
        byte = f"%stored.{next(numbers)}"
        return f"{indent}{byte} = zext i1 {stored} to i8\n{indent}store i8 {byte}{where}"

    return _ACCESS.sub(replace, text)
