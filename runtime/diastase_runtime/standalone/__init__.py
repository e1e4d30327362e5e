"""Programs that run without Python: the loader, a call and its results, written in C.

In: an artifact, the arrays that it is to be called with, and names for its results. Out: the text
of a C program (`program.c` with its tables filled in) that loads the artifact's libraries, fills
the import table as the loader does, calls the entry and prints the results. `locate` says how the C
program is to find a library.

Values of Python's are written as C: strings, and arrays as initialisers, of the element types that
programs know; every number is read back as exactly itself. Two reals make a complex number; formats
of 16 bits, which C lacks, are their bits.

The trap: routines of LAPACK and BLAS are SciPy's, through Python modules, when Python runs; here
they are the functions of the library behind those modules, under the names that they have there.
"""

import ctypes
import math
import os
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import numpy as np

from diastase_runtime.abi import (
    ENTRY_SYMBOL,
    IMPORT_TABLE,
    ON_THE_POOL,
    Artifact,
    CallContext,
    Import,
    library_symbol,
)
from diastase_runtime.arrays.memref import sizes_and_strides
from diastase_runtime.error_codes import message_templates
from diastase_runtime.libraries import USED_BY_ENGINES, linear_algebra_symbol
from diastase_runtime.process_limits import MOST_THREADS, VARIABLE

_FOLDER = resources.files("diastase_runtime.standalone")

Locate = Callable[[Path], str]
"""From a library to the path, or name, by which the C program opens it."""

_C_TYPES = {ctypes.c_int64: "int64_t", ctypes.c_uint64: "uint64_t", ctypes.c_void_p: "void *"}


def c_source(
    artifact: Artifact,
    arguments: Sequence[np.ndarray],
    names: Sequence[str],
    seed: int | None,
    locate: Locate = str,
) -> str:
    """Write the C program; `names` are those of the results, `seed` is None for a random one."""
    ranks = {kind.rank for kind in (*artifact.arguments, *artifact.results)}
    numbers = range(len(arguments))
    return filled(
        "program.c",
        name=string(artifact.name)[1:-1].replace("*/", "* /"),  # in a comment
        quoted_name=string(artifact.name),
        elements=", ".join(name.upper() for name in ELEMENTS),
        tables=tables(artifact, ranks, locate),
        start=in_lines(start_lines(artifact, locate)),
        arguments="".join(map(_argument, numbers, arguments)),
        results=in_lines(
            f"struct array_{kind.rank} result_{number};"
            for number, kind in enumerate(artifact.results)
        )
        or "    char none;",
        arrays=in_lines(map(_array, numbers, arguments)),
        pointers=", ".join(
            [*["&results"] * bool(artifact.results), "context", *(f"&array_{n}" for n in numbers)]
        ),
        printed=in_lines(_printed(artifact, names)),
        seed=RANDOM_SEED if seed is None else f"return UINT64_C({seed});",
        table=IMPORT_TABLE,
        entry=ENTRY_SYMBOL,
    )


def filled(template: str, **parts: Any) -> str:
    """A file of this folder with its gaps filled."""
    return Template((_FOLDER / template).read_text()).substitute(parts)


def tables(artifact: Artifact, ranks: Iterable[int], locate: Locate) -> str:
    """Write what is known of the program, for a C program or a library: `tables.c`.

    Arrays of these ranks are described; sites are the places at which the program may fail.
    """
    return filled(
        "tables.c",
        context=in_lines(_field_of_context(*field[:2]) for field in CallContext._fields_),
        descriptors="\n".join(map(_descriptor, sorted(ranks))),
        library=string(locate(artifact.library)),
        imports=in_lines(_import_entry(entry, artifact, locate) for entry in artifact.imports),
        sites=in_lines(
            f"{{ {string(site.file)}, {site.line}, {string(site.function)}, "
            f"{string(site.construct)} }},"
            for site in artifact.sites
        ),
        errors=in_lines(
            f"[{code}] = {string(text)}," for code, text in message_templates().items()
        ),
        threads_variable=VARIABLE,
        most_threads=MOST_THREADS,
    ).rstrip()


RANDOM_SEED = """uint64_t bits = 0;
    FILE *source = fopen("/dev/urandom", "rb");
    if (!source || fread(&bits, sizeof bits, 1, source) != 1)
        bits = (uint64_t)getpid();
    return bits;"""


def in_lines(lines: Iterable[str]) -> str:
    """Indented, each on a line of its own."""
    return "\n".join(f"    {line}" for line in lines)


def _field_of_context(name: str, kind: Any) -> str:
    """Declare a field of the call context."""
    length = getattr(kind, "_length_", None)
    if length is not None:
        return f"{_C_TYPES[kind._type_]} {name}[{length}];"
    return f"{_C_TYPES[kind]} {name};".replace("* ", "*")


def _descriptor(rank: int) -> str:
    """Declare the descriptor of arrays of a rank."""
    axes = f", sizes[{rank}], strides[{rank}]" if rank else ""
    return f"struct array_{rank} {{ void *allocated, *aligned; int64_t offset{axes}; }};"


def _import_entry(entry: Import, artifact: Artifact, locate: Locate) -> str:
    """Write an entry of the import table: library and function."""
    if entry.library in ("lapack", "blas"):
        library, symbol = linear_algebra_symbol(entry)
        return f"{{ {string(str(library))}, {string(symbol)} }},"
    library: Path = getattr(artifact, entry.library)
    symbol = library_symbol(entry.library, entry.name)
    return f"{{ {string(locate(library))}, {string(symbol)} }},"


def start_lines(artifact: Artifact, locate: Locate) -> list[str]:
    """What the libraries are told before the first call; as `libraries` does."""
    if artifact.threads is None:
        return []
    pool = string(locate(artifact.threads))

    def of_pool(name: str) -> str:
        return f"function({pool}, {string(library_symbol('threads', name))})"

    lines = [f"((void (*)(int64_t)){of_pool('configure')})(number_of_threads());"]
    for kind in ON_THE_POOL:
        library: Path | None = getattr(artifact, kind)
        if library is None:
            continue
        use = f"function({string(locate(library))}, {string(library_symbol(kind, 'use_threads'))})"
        types = ", ".join(["void *"] * len(USED_BY_ENGINES))
        functions = ",\n        ".join(map(of_pool, USED_BY_ENGINES))
        lines.append(f"((void (*)({types})){use})(\n        {functions});")
    return lines


def _argument(number: int, array: np.ndarray) -> str:
    c_type = ELEMENTS[array.dtype.name].c_type
    kind = f"{array.dtype}[{', '.join(map(str, array.shape))}]"
    return f"static {c_type} argument_{number}[] = {{ {initialiser(array)} }}; /* {kind} */\n"


def _array(number: int, array: np.ndarray) -> str:
    words = [*map(str, sizes_and_strides(array.shape))]
    axes = [", ".join(words[: array.ndim]), ", ".join(words[array.ndim :])]
    shape = "".join(f", {{ {axis} }}" for axis in axes) if array.ndim else ""
    data = f"argument_{number}"
    return f"struct array_{array.ndim} array_{number} = {{ {data}, {data}, 0{shape} }};"


def _printed(artifact: Artifact, names: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for number, (kind, name) in enumerate(zip(artifact.results, names, strict=True)):
        result = f"results.result_{number}"
        axes = f"{result}.sizes, {result}.strides" if kind.rank else "NULL, NULL"
        size = ELEMENTS[kind.dtype].size
        if name:
            lines.append(f'printf("%s: ", {string(name)});')
        lines += [
            f"print_array({kind.dtype.upper()}, {size}, {result}.aligned, {kind.rank}, {axes});",
            'printf("\\n");',
        ]
    return lines


class Element(NamedTuple):
    """How an element type is stored in C."""

    c_type: str
    size: int
    """Bytes of an element."""


ELEMENTS = {
    "bool": Element("bool", 1),
    **{f"int{bits}": Element(f"int{bits}_t", bits // 8) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": Element(f"uint{bits}_t", bits // 8) for bits in (8, 16, 32, 64)},
    "float16": Element("uint16_t", 2),
    "bfloat16": Element("uint16_t", 2),
    "float32": Element("float", 4),
    "float64": Element("double", 8),
    "complex64": Element("float", 8),
    "complex128": Element("double", 16),
}
"""By numpy's name of the type."""


def string(text: str) -> str:
    """Write a string literal of C."""
    plain = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "?": "\\?"}
    return '"' + "".join(plain.get(chr(byte)) or _character(byte) for byte in _bytes(text)) + '"'


def _bytes(text: str) -> bytes:
    """The bytes of a path as the system has them, and of a text that stands for none."""
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        return text.encode("utf8", "backslashreplace")


def initialiser(array: np.ndarray) -> str:
    """Write the elements of an array; C has no empty arrays, so there is always one."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if array.dtype.name in ("float16", "bfloat16"):
        flat = flat.view(np.uint16)
    elif np.iscomplexobj(array):
        flat = flat.view(f"float{4 * flat.itemsize}")
    return ", ".join(map(_number, flat.tolist())) or "0"


def _character(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return _integer(value)
    if math.isnan(value):
        return "NAN"
    return repr(value).replace("inf", "INFINITY")


def _integer(value: int) -> str:
    if value == -(2**63):  # C has no negative literals, and no such positive number
        return f"(-INT64_C({2**63 - 1}) - 1)"
    return f"UINT64_C({value})" if value >= 2**63 else f"INT64_C({value})"
