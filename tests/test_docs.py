"""What the documentation says is so: its programs run, its links lead somewhere."""

import doctest
import linecache
import os
import re
import runpy
import sys
from pathlib import Path
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
from matplotlib import pyplot

from diastase import acting_as_catalyst, qjit

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
LINK = re.compile(r"\]\((?!https?://)([^)#]+)(?:#([^)]*))?\)")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
# Cells of tutorials, too, whose options are lines that begin with a colon.
ANY_BLOCK = re.compile(
    r"^```(python|pycon|\{code-cell\})\n(?::.*\n)*(.*?)^```", re.DOTALL | re.MULTILINE
)
PATH = re.compile(r"`((?:frontend|mlir|runtime|docs|tests|examples|benchmarks)/[\w./-]*)`")


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.sample(29)
@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links_lead_somewhere(page):
    targets = [page.parent / target for target, _ in LINK.findall(page.read_text())]
    assert [str(target) for target in targets if not target.exists()] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=page_name)
def test_files_that_are_named_exist(page):
    """Not in decisions, which are history; `<name>` marks what a reader is to fill in."""
    named = PATH.findall(page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text()
    linked = {target for target, _ in LINK.findall(index)}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"} <= linked


def test_the_program_of_the_readme():
    (source,) = BLOCK.findall((ROOT / "README.md").read_text())
    names: dict = {}
    exec(compile(source, "README.md", "exec"), names)
    compiled = names["circuit"]
    interpreted = qml.QNode(compiled.original_function.func, qml.device("default.qubit", wires=2))
    for angles in (jnp.array([0.1, 0.2, 0.3]), jnp.array([1.5])):
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12),
            compiled(angles),
            interpreted(angles),
        )


def test_the_tour(capsys):
    """It compares its results with PennyLane's by itself."""
    runpy.run_path(str(ROOT / "docs" / "tour.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "as PennyLane says" in printed
    assert "\n--- 00_capture.mlir" in printed


@pytest.mark.sample(2)
@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=page_name)
def test_programs_in_the_docs_run(page):
    run_blocks(page)


@pytest.mark.sample(1)
@pytest.mark.parametrize("page", TUTORIALS, ids=page_name)
def test_tutorials_run(page):
    """Without Sphinx; each compares its results with a reference. `make site` draws its plots."""
    source = page.read_text()
    assert "np.testing.assert_" in source
    assert "except DiastaseError" in source
    for module in ("matplotlib", "optax", "sklearn", "distributed"):
        if re.search(rf"^(import|from) {module}", source, re.MULTILINE):
            pytest.importorskip(module)
    run_blocks(page)
    pyplot.close("all")


def test_the_program_of_the_front_page_of_the_site():
    names = run_blocks(ROOT / "docs" / "site" / "pages" / "index.md")
    energy, angles = names["minimise"](jnp.array([0.1, 0.2, 0.3]), 200)
    plain = qml.QNode(names["energy"].func, qml.device("default.qubit", wires=2))
    np.testing.assert_allclose(energy, plain(angles), atol=1e-12)
    assert energy < plain(jnp.array([0.1, 0.2, 0.3]))


def run_blocks(page):
    """Blocks marked `python` of one page share their names, as in one session; these names.

    So do those marked `pycon`, which print what they say, and cells of tutorials.
    """
    names: dict = {"__name__": page.stem}
    # What a page begins to act as, and what a cluster leaves in the environment, ends here.
    with acting_as_catalyst(), mock.patch.dict(os.environ):
        for number, (kind, source) in enumerate(ANY_BLOCK.findall(page.read_text())):
            file = f"<{page_name(page)}, block {number}>"
            if kind == "pycon":
                session = doctest.DocTestParser().get_doctest(source, names, file, None, None)
                runner = doctest.DebugRunner(verbose=False)
                runner.run(session, clear_globs=False)
                continue
            lines = source.splitlines(keepends=True)
            linecache.cache[file] = (len(source), None, lines, file)  # for AutoGraph
            exec(compile(source, file, "exec"), names)
    return names


REFUSED_SIZES = [
    ("NegativeSizeError", lambda n: jnp.ones(n - 5), (3,)),
    ("SizeMismatchError", lambda n: jnp.max(jnp.ones(n)), (0,)),
    ("SizeMismatchError", lambda n: jnp.ones(n)[0], (0,)),
    ("SizeMismatchError", lambda n: jnp.argmax(jnp.ones(n)), (0,)),
    ("SizeMismatchError", lambda n: jax.lax.dynamic_slice(jnp.ones(n), (0,), (3,)), (2,)),
    ("SizeMismatchError", lambda n, m: jnp.arange(n).reshape(m), (5, 2)),
    ("OutOfMemoryError", lambda n: jnp.ones(n), (2**50,)),
    ("TracedIndexError", lambda n: [0 for _ in range(n)], (3,)),
    ("MappedSizeError", jax.vmap(lambda n: jnp.ones(n).sum()), (jnp.arange(3),)),
    (
        "SizeEscapesError",
        lambda n: jax.lax.scan(lambda c, x: (c, jnp.ones(c)), n, jnp.ones(3))[1],
        (2,),
    ),
    ("UnknownSizesDifferError", lambda n, m: jnp.ones(n) + jnp.ones(m), (3, 2)),
    ("UnknownSizesDifferError", lambda n: jnp.ones(n) + jnp.ones(3), (2,)),
]
"""The table of `dynamic-shapes.md`, row by row, as far as calls of small programs show it."""


@pytest.mark.parametrize(("error", "function", "arguments"), REFUSED_SIZES)
def test_what_the_page_on_sizes_says_raises(error, function, arguments):
    assert f"`{error}`" in (ROOT / "docs" / "dynamic-shapes.md").read_text()
    with pytest.raises(Exception) as caught:  # noqa: PT011
        qjit(function)(*arguments)
    assert type(caught.value).__name__ == error


@pytest.fixture
def beside_pages(monkeypatch):
    """What `docs/generated.py` has for the others there, as when one of them is run."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))


@pytest.mark.usefixtures("beside_pages")
def test_the_table_of_errors():
    made = runpy.run_path(str(ROOT / "docs" / "error_table.py"))
    assert made["page"]() == made["PAGE"].read_text(), "run: make docs"
    assert "catalyst" not in sys.modules  # though each module of ours has been imported


@pytest.mark.usefixtures("beside_pages")
def test_the_table_of_oracles():
    made = runpy.run_path(str(ROOT / "docs" / "oracle_table.py"))
    assert made["page"]() == made["PAGE"].read_text(), "run: make docs"


@pytest.mark.usefixtures("beside_pages")
def test_the_picture_and_the_table_of_rooms():
    made = runpy.run_path(str(ROOT / "docs" / "rooms.py"))
    for page, text in made["pages"]().items():
        assert text == page.read_text(), "run: make docs"
