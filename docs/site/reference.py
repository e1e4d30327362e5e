"""The pages of the reference: one for each module that has public names, made of `public_names`.

A page has the module's own docstring, a table of what is there, then an entry for each name; a
class has its methods and properties below it. Only what has no page of its own is left out:
modules in modules. `tests/test_site.py` compares the pages with the packages.
"""

import textwrap
from collections.abc import Iterator
from itertools import groupby, takewhile

import docstrings
from public_names import GIVEN, PublicName, public_names

GIVEN_PAGE = "diastase.given"
TITLES = {
    "diastase": "the names that programs begin with",
    "diastase.debug": "looking into programs and compilations",
    "diastase.passes": "passes on circuits, and what one's own are made of",
    "diastase.passes.values": "angles and conditions of gates, in passes",
    "diastase.pipelines": "the order of the compiler's stages",
    "diastase.distributed": "functions on each element of a batch",
    "diastase.testing": "proving passes",
    "diastase.jaxpr": "explicit jaxprs as data",
    "diastase.errors": "all errors",
    "diastase.autograph": "Python's control flow",
    "diastase.utils.exceptions": "Catalyst's exceptions",
    "diastase_runtime": "saved functions, where there is NumPy alone",
    "diastase_runtime.distributed": "maps without the compiler",
    GIVEN_PAGE: "classes of what functions give",
}
DIRECTIVES = {
    "class": "autoclass", "error": "autoexception", "data": "autodata", "function": "autofunction",
    "method": "automethod", "property": "autoproperty",
}  # fmt: skip

KINDS = {"function": "Functions", "class": "Classes", "error": "Errors", "data": "Data"}
OPTIONS = {"error": ":show-inheritance:", "data": ":no-value:"}


def pages() -> dict[str, str]:
    """Each page of the reference, by its name without the ending: reStructuredText."""
    made = {}
    for module, names in groupby(public_names(), page_of):
        entries = [name for name in names if name.kind != "module"]
        if entries:
            made[module] = page(module, entries)
    return {"index": index(tuple(made)), **made}


def page_of(name: PublicName) -> str:
    """The page that a name is on: that of its module, or that of what functions give."""
    return GIVEN_PAGE if name.module in GIVEN else name.module


def index(modules: tuple[str, ...]) -> str:
    """The page with a line for each module, and all names."""
    rows = [f"* - :doc:`{module}`\n  - {TITLES.get(module, '')}" for module in modules]
    inside = "\n".join(f"   {line}" for row in rows for line in row.splitlines())
    listed = "\n".join(f"   {module}" for module in modules)
    return (
        f"{heading('API')}\n"
        "Every public name, from the docstrings; :ref:`genindex` has them in alphabetical order.\n"
        "What is in no page here is private, and may change.\n\n"
        f".. list-table::\n   :widths: auto\n\n{inside}\n\n"
        f".. toctree::\n   :hidden:\n\n{listed}\n"
    )


def page(module: str, names: list[PublicName]) -> str:
    """All entries of one module."""
    is_given = module == GIVEN_PAGE
    title = "What functions give" if is_given else module
    parts = [heading(title)]
    if is_given:
        parts.append("Nobody imports these: functions and methods return them.\n")
    else:
        parts.append(f".. py:module:: {module}\n\n.. automodule:: {module}\n   :no-index:\n")
        parts.append(f".. currentmodule:: {module}\n")
        parts += tables(names)
    parts += entries(names)
    return "\n".join(parts)


def tables(names: list[PublicName]) -> Iterator[str]:
    """What there is, by kind: names, and the first lines of their docstrings."""
    for kind, title in KINDS.items():
        of_kind = [name.qualified for name in names if name.kind == kind]
        if of_kind:
            rows = "\n".join(f"   {name}" for name in of_kind)
            yield f".. rubric:: {title}\n\n.. autosummary::\n   :nosignatures:\n\n{rows}\n"


def entries(names: list[PublicName]) -> Iterator[str]:
    """One directive for each name; members stand in those of their classes."""
    for name in names:
        indent = "   " * name.qualified.count(".")
        option = OPTIONS.get(name.kind, "")
        body = f"\n{indent}   {option}" if option else ""
        if name.kind == "class" and name.value.__name__ != name.qualified:
            body += "\n\n" + textwrap.indent(of_another_name(name), f"{indent}   ")
        yield f"{indent}.. {DIRECTIVES[name.kind]}:: {name}{body}\n"


def of_another_name(name: PublicName) -> str:
    """What a class is, before its sections: autodoc says only which one the name is an alias of."""
    lines = takewhile(lambda line: not docstrings.SECTION.match(line), name.docstring.splitlines())
    text = list(lines)
    docstrings.as_rst(None, "class", str(name), name.value, None, text)
    return "\n".join(text)


def heading(title: str) -> str:
    """A title of a page."""
    return f"{title}\n{'=' * len(title)}\n"
