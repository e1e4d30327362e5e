"""A program of a saved function as a C library: header and source, beside libraries of ours.

In: the program, its artifact with files of libraries, and the name of the C function. Out: the text
of the header, which documents the function, and of its source (`library.c` with its tables filled
in), which loads the libraries that lie beside it at the first call.

    int energy(int64_t n, const double *x, int64_t k, struct energy_results *results);

Names of open sizes come first, each once, so that equal sizes are equal. An argument of rank 0 is a
value, an array a pointer to elements in C's order; complex numbers are pairs of reals, and formats
of 16 bits their bits. Results are the caller's until `energy_free`.

The trap: names of the user's become names of C, which are made different where they are not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diastase_runtime.abi import (
    ENGINES,
    ENTRY_SYMBOL,
    IMPORT_TABLE,
    LIBRARY_FIELDS,
    Artifact,
    Engine,
    library_symbol,
)
from diastase_runtime.saved.manifest import LeafType, SavedProgram
from diastase_runtime.saved.pytrees import leaf_names
from diastase_runtime.standalone import (
    ELEMENTS,
    RANDOM_SEED,
    filled,
    in_lines,
    start_lines,
    string,
    tables,
)

_RESERVED = frozenset(
    "auto bool break case catch char class const continue default delete do double else enum "
    "extern false float for goto if inline int long main namespace new operator private protected "
    "public register restrict return short signed sizeof static struct switch template this throw "
    "true try typedef union unsigned using virtual void volatile while "
    "NULL errno int64_t linux memcpy memset pthread_once stderr stdin stdout sysconf unix "
    "allocated context describe entry failure free_all function made message once pointers results "
    "seed start tell".split()
)
"""Words of C and C++, and names that the template uses where parameters are seen."""


@dataclass(frozen=True)
class _Leaf:
    """An argument or a result under its name in C."""

    name: str
    kind: LeafType
    word: str
    """The user's name."""

    @property
    def element(self) -> str:
        return ELEMENTS[self.kind.dtype].c_type

    @property
    def is_complex(self) -> bool:
        return self.kind.dtype.startswith("complex")

    @property
    def is_value(self) -> bool:
        """Whether C has it as a number."""
        return not self.kind.shape and not self.is_complex

    @property
    def rank(self) -> int:
        return len(self.kind.shape)


def c_library(program: SavedProgram, artifact: Artifact, name: str) -> tuple[str, str]:
    """Write the header and the source of a C function of this name."""
    symbols = _symbols(program.arguments)
    names = _names([*symbols, *program.names, *leaf_names("result", program.out_structure)])
    sizes: dict[int | str, str] = dict(zip(symbols, names, strict=False))
    rest = iter(names[len(symbols) :])
    arguments = [
        _Leaf(next(rest), kind, word)
        for word, kind in zip(program.names, program.arguments, strict=True)
    ]
    words = leaf_names("result", program.out_structure)
    results = [
        _Leaf(next(rest), kind, word) for word, kind in zip(words, program.results, strict=True)
    ]
    parameters = [
        *(f"int64_t {size}" for size in sizes.values()),
        *(f"{_type(leaf)}{leaf.name}" for leaf in arguments),
        f"struct {name}_results *results",
    ]
    given = {
        "name": name,
        "header": f"{name}.h",
        "export": _EXPORT,
        "parameters": ",\n        ".join(parameters),
        "signature": str(program).replace("*/", "* /"),
        "assumptions": "".join(
            f"\n *     {text.replace('*/', '* /')}" for text in program.assumptions
        ),
        "described": "\n".join(
            f" *     {_described(leaf, sizes)}" for leaf in (*arguments, *results)
        ),
        "fields": in_lines(line for leaf in results for line in _fields(leaf)),
        "count": str(len(results)),
        "kept": f"    void *allocated[{max(1, len(results))}]; /* for {name}_free */",
    }
    body = _body(program, artifact, arguments, results, sizes)
    return filled("library.h", **given), filled("library.c", **given, **body)


_EXPORT = '__attribute__((visibility("default")))'


def _body(
    program: SavedProgram,
    artifact: Artifact,
    arguments: Sequence[_Leaf],
    results: Sequence[_Leaf],
    sizes: Mapping[int | str, str],
) -> dict[str, str]:
    def beside(library: Path) -> str:
        return library.name

    ranks = {leaf.rank for leaf in (*arguments, *results)}
    libraries = [getattr(artifact, kind) for kind in LIBRARY_FIELDS]
    first_words = ["&made"] * bool(results)
    return {
        "quoted_name": string(artifact.name),
        "tables": tables(artifact, ranks, beside),
        "check": in_lines(
            f"(void)library({string(beside(library))});" for library in libraries if library
        ),
        "start": in_lines(start_lines(artifact, beside)),
        "table": IMPORT_TABLE,
        "entry": ENTRY_SYMBOL,
        "seed": RANDOM_SEED if program.seed is None else f"return UINT64_C({program.seed});",
        "descriptors_of_results": in_lines(
            f"struct array_{leaf.rank} {leaf.name};" for leaf in results
        )
        or "    char none;",
        "arrays": in_lines(_array(leaf, sizes) for leaf in arguments),
        "sizes": in_lines(
            f'if ({size} < 0) {{ tell("{size} is negative"); return -1; }}'
            for size in sizes.values()
        ),
        "pointers": ", ".join(
            [*first_words, "&context", *(f"&of_{leaf.name}" for leaf in arguments)]
        ),
        "allocated": "".join(f"made.{leaf.name}.allocated, " for leaf in results),
        "allocated_given": "".join(f"results->allocated[{n}], " for n in range(len(results))),
        "release": in_lines(_release(artifact)),
        "given": in_lines(line for n, leaf in enumerate(results) for line in _given(n, leaf)),
    }


def _symbols(kinds: Iterable[LeafType]) -> list[str]:
    sizes = [size for kind in kinds for size in kind.shape if isinstance(size, str)]
    return list(dict.fromkeys(sizes))


def _names(words: Iterable[str]) -> list[str]:
    """Identifiers of C, all of them different, also with `_sizes` behind them."""
    names: list[str] = []
    taken: set[str] = set()
    for word in words:
        name = c_name(word)
        while {name, f"{name}_sizes"} & taken:
            name += "_"
        names.append(name)
        taken |= {name, f"{name}_sizes"}
    return names


def c_name(word: str) -> str:
    """The name that C has for what the user calls so."""
    name = re.sub(r"\W+", "_", word, flags=re.ASCII).strip("_") or "x"
    is_free = not (name[0].isdigit() or name in _RESERVED or name.startswith("of_"))
    return name if is_free else f"x_{name}"


def _type(leaf: _Leaf) -> str:
    return f"{leaf.element} " if leaf.is_value else f"const {leaf.element} *"


def _described(leaf: _Leaf, names: Mapping[int | str, str]) -> str:
    """What the header says of a leaf; `names` are those of open sizes in C."""
    sizes = "".join(f"[{names.get(size, size)}]" for size in leaf.kind.shape)
    parts = ", pairs of reals" if leaf.is_complex else ""
    bits = ", as bits" if leaf.kind.dtype in ("float16", "bfloat16") else ""
    return f"{leaf.name}{sizes}: {leaf.word.replace('*/', '* /')}, {leaf.kind.dtype}{parts}{bits}"


def _fields(leaf: _Leaf) -> list[str]:
    if leaf.is_value:
        return [f"{leaf.element} {leaf.name};"]
    if not leaf.rank:
        return [f"{leaf.element} {leaf.name}[2];"]
    return [f"{leaf.element} *{leaf.name};", f"int64_t {leaf.name}_sizes[{leaf.rank}];"]


def _array(leaf: _Leaf, sizes: Mapping[int | str, str]) -> str:
    """Declare the descriptor of an argument."""
    data = f"(void *)&{leaf.name}" if leaf.is_value else f"(void *){leaf.name}"
    lengths = [sizes[size] if isinstance(size, str) else str(size) for size in leaf.kind.shape]
    strides = [" * ".join(lengths[axis + 1 :]) or "1" for axis in range(leaf.rank)]
    axes = "".join(f", {{ {', '.join(words)} }}" for words in (lengths, strides) if words)
    return f"struct array_{leaf.rank} of_{leaf.name} = {{ {data}, {data}, 0{axes} }};"


def _given(number: int, leaf: _Leaf) -> list[str]:
    """Hand a result over."""
    made = f"made.{leaf.name}"
    keep = f"results->allocated[{number}] = {made}.allocated;"
    if leaf.is_value:
        return [f"results->{leaf.name} = *({leaf.element} *){made}.aligned;", keep]
    if not leaf.rank:
        return [f"memcpy(results->{leaf.name}, {made}.aligned, sizeof results->{leaf.name});", keep]
    return [
        f"results->{leaf.name} = ({leaf.element} *){made}.aligned;",
        f"memcpy(results->{leaf.name}_sizes, {made}.sizes, sizeof {made}.sizes);",
        keep,
    ]


def _release(artifact: Artifact) -> list[str]:
    """Release the states and scripts that a failed call has left, as `release_states` does."""
    kind: Engine | None = next((k for k in ENGINES if getattr(artifact, k) is not None), None)
    if kind is None:
        return []
    library: Path = getattr(artifact, kind)
    functions = {
        "states": library_symbol(kind, "state_release"),
        "scripts": library_symbol(kind, "script_end"),
    }
    return [
        f"    while (context.{left}) ((void (*)(void *, void *))function("
        f"{string(library.name)}, {string(function)}))(&context, context.{left});"
        for left, function in functions.items()
    ]
