"""The site, without Sphinx: every public name has an entry, pages keep their links, docstrings are
reStructuredText. `make site` builds it, `make site-check` looks at it."""

import importlib
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import diastase
import diastase_runtime

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "site"
ENTRY = re.compile(r"^ *\.\. auto(?:class|exception|data|function|method|property):: (\S+)$", re.M)


@pytest.fixture(scope="module")
def site():
    """The modules that make the site, as `docs/site/__main__.py` imports them."""
    names = "public_names", "reference", "sources", "docstrings"
    before = sys.path[:]
    sys.path[:0] = [str(SITE), str(ROOT / "docs")]
    yield {name: importlib.import_module(name) for name in names}
    sys.path[:] = before
    for name in names:
        del sys.modules[name]


@pytest.fixture(scope="module")
def entries(site):
    """All names with an entry in the reference."""
    return [name for page in site["reference"].pages().values() for name in ENTRY.findall(page)]


def modules():
    """Public modules of the packages: what `__all__` of another names."""
    waiting, found = [diastase, diastase_runtime], []
    while waiting:
        module = waiting.pop()
        found.append(module)
        values = (getattr(module, name) for name in module.__all__)
        waiting += [each for each in values if hasattr(each, "__all__") and each not in found]
    return found


def test_every_public_name_has_an_entry(site, entries):
    """Counted from `__all__`; a name of two modules may have its entry in the other."""
    between = site["public_names"].BETWEEN_LAYERS
    missing = []
    for module in modules():
        for name in module.__all__:
            value = getattr(module, name)
            elsewhere = [entry for entry in entries if entry.endswith(f".{name}")]
            is_there = any(value is found_at(entry) for entry in elsewhere)
            if (
                not is_there
                and not isinstance(value, ModuleType)
                and name not in between.get(module.__name__, ())
            ):
                missing.append(f"{module.__name__}.{name}")
    assert missing == []
    assert len(entries) == len(set(entries)) > 200


def found_at(entry):
    """What an entry is about."""
    module, _, name = entry.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        return getattr(found_at(module), name)


def test_methods_have_entries(entries):
    """Those of what `qjit` gives, which users call most."""
    members = {name: value for name, value in vars(diastase.QJIT).items() if name[0] != "_"}
    left_out = {"compiled_for", "like", "derived", "programs", "signature"}
    have = {entry.rpartition(".")[2] for entry in entries if entry.startswith("diastase.QJIT.")}
    # `user_function` is another name of `original_function`.
    have |= {name for name, value in members.items() if value in [members.get(one) for one in have]}
    assert members.keys() - left_out <= have


def test_a_name_that_is_new_is_in_the_reference(site, monkeypatch):
    monkeypatch.setattr(diastase.passes, "brand_new", lambda: None, raising=False)
    monkeypatch.setattr(diastase.passes, "__all__", [*diastase.passes.__all__, "brand_new"])
    assert (
        "autofunction:: diastase.passes.brand_new" in site["reference"].pages()["diastase.passes"]
    )


def test_links_are_those_of_the_site(site, tmp_path):
    made = site["sources"].Sources(tmp_path)
    text = "[a](quick-start.md#install) [b](../README.md) `[c](no.md)` [d](../Makefile) [e](https://x)\n"
    assert made.with_links("docs/from-catalyst.md", f"{text}```\n[f](no.md)\n```\n") == (
        "[a](quick-start.md#install) [b](readme.md) `[c](no.md)` [d](files/Makefile.md) [e](https://x)\n"
        "```\n[f](no.md)\n```\n"
    )
    there = made.with_links(
        "docs/decisions/0095-elements-of-a-map-are-calls.md", "[](../cluster.md)"
    )
    assert there == "[](../cluster.md)"


def test_a_link_that_leads_nowhere_stops_the_build(site, tmp_path):
    made = site["sources"].Sources(tmp_path)
    with pytest.raises(
        site["sources"].BrokenLinkError, match=r"docs/noise.md:2: there is no docs/no.md"
    ):
        made.with_links("docs/noise.md", "\n[this](no.md)\n")


def test_all_pages_are_copied(site, tmp_path):
    """And what they link to; each page of `docs` is in a table of contents."""
    made = site["sources"].Sources(tmp_path)
    made.copy()
    listed = set()
    for page in (SITE / "pages").glob("*.md"):
        for contents in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL):
            listed |= {line.split("<")[-1].rstrip(">") for line in contents.split()}
    in_docs = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")]
    places = {site["sources"].place_of(str(page.relative_to(ROOT))) for page in in_docs}
    assert places <= made.written
    assert {place.removesuffix(".md") for place in places} <= listed


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("`x` of `qjit`s", r"``x`` of :py:obj:`qjit <diastase.qjit>`\ s"),
        ("See `docs/noise.md`.", "See :doc:`/noise`."),
        ("|0> and ``x``", r"\|0> and ``x``"),
        ("A span `that goes\non` here", "A span ``that goes on`` here"),
        (
            "So:\n\n    x = `1`\n\nThen `y`.",
            "So:\n\n    x = ``1``\n\nThen ``y``.",
        ),
        (
            "A program\n\n    f(1)\n\nThen `y`.",
            "A program\n\n.. code-block:: python\n\n    f(1)\n\nThen ``y``.",
        ),
        ("A table\n\n    no python", "A table\n\n.. code-block:: text\n\n    no python"),
        (">>> '`x`'\n'`x`'\n\n`x`", ">>> '`x`'\n'`x`'\n\n``x``"),
        ("Args:\n    x: a `y`.", "Args:\n    x: a ``y``."),
    ],
)
def test_docstrings_become_restructuredtext(site, docstring, expected):
    lines = docstring.splitlines()
    site["docstrings"].as_rst(None, "", "", None, None, lines)
    assert "\n".join(lines) == expected


def test_a_colon_in_the_first_line_of_a_property_ends_no_type(site):
    """To napoleon, `a number: of what` in a first line is a type and a text."""
    lines = ["Where it is from: the cache, or not.", "", "More."]
    site["docstrings"].as_rst(None, "property", "", None, None, lines)
    assert lines == ["..", "", "Where it is from: the cache, or not.", "", "More."]


def test_a_class_with_another_name_says_what_it_is(site):
    """Of `CompileOptions` there was only "alias of QjitOptions"."""
    page = site["reference"].pages()["diastase"]
    entry = page.partition(".. autoclass:: diastase.CompileOptions\n")[2].partition("\n.. ")[0]
    assert entry.strip().startswith("What the user asked of :py:obj:`qjit <diastase.qjit>`")
    assert "Raises" not in entry


def test_figures_are_drawn_from_the_results(site, tmp_path):
    pytest.importorskip("matplotlib")
    figures = runpy.run_path(str(SITE / "figures.py"))
    page = figures["page"](tmp_path / "measured")
    pictures = re.findall(r"!\[[^]]*\]\(pictures/(measured/\w+\.svg)\)", page)
    assert len(pictures) == len(figures["PICTURES"])
    assert all((tmp_path / picture).read_text().startswith("<?xml") for picture in pictures)
    medians = figures["medians"](
        {
            "figures": [
                {"case": "a", "subject": "qsim", "threads": 1, "seconds": [3, 1, 2], "problem": ""},
                {"case": "a", "subject": "qjit", "threads": 2, "seconds": [1], "problem": ""},
                {"case": "b", "subject": "qsim", "threads": 1, "seconds": [1], "problem": "wrong"},
            ]
        },
        1,
    )
    assert medians == {"a": {"qsim": 2}}


@pytest.mark.thorough
def test_a_tutorial_that_fails_stops_the_build_and_shows_its_cell(tmp_path):
    """A copy of one with a result that is wrong, built alone."""
    pytest.importorskip("myst_nb")
    page = (ROOT / "docs" / "tutorials" / "qaoa.md").read_text()
    head, _, _ = page.partition("```{code-cell}")
    broken = (
        "```{code-cell}\nfound = 1 + 1\n```\n\n```{code-cell}\nassert found == 3, 'wrong'\n```\n"
    )
    (tmp_path / "index.md").write_text(head + broken)
    options = ["-b", "html", "-c", str(SITE), "-W", "-q"]
    command = [sys.executable, "-m", "sphinx", *options, str(tmp_path), str(tmp_path / "made")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    printed = done.stdout + done.stderr
    assert done.returncode != 0
    assert "assert found == 3, 'wrong'" in printed
    assert "AssertionError" in printed
    assert "index.md" in printed
