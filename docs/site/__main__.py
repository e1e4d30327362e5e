"""Build the site: `make site`, or `python docs/site [--output build/site] [--no-gallery]`.

Copies the pages (`sources`), makes those that are made (`reference`, `figures`, `gallery`), and
runs Sphinx, which runs the tutorials. Every warning is an error; nothing is fetched.
"""

import argparse
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import figures  # noqa: E402
import gallery  # noqa: E402
import reference  # noqa: E402
import rooms_picture  # noqa: E402
from sources import ROOT, Sources  # noqa: E402
from sphinx.cmd.build import main as sphinx  # noqa: E402

MERMAID = re.compile(r"^```mermaid\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def assemble(folder: Path, with_gallery: bool = True) -> None:
    """Everything that Sphinx reads."""
    shutil.rmtree(folder, ignore_errors=True)
    sources = Sources(folder)
    sources.copy()
    pictures = folder / "pictures"
    if with_gallery:
        gallery.run_all(pictures / "gallery")
    page = folder / "gallery.md"
    cards = gallery.cards("pictures/gallery") if with_gallery else ""
    page.write_text(page.read_text().replace("<!-- cards -->", cards))
    for name in gallery.EXAMPLES:
        sources.show(f"examples/{name}.py")
    sources.write("measured.md", figures.page(pictures / "measured"))
    for name, text in reference.pages().items():
        sources.write(f"reference/{name}.rst", text)
    decisions = sorted(path.stem for path in (folder / "decisions").glob("[0-9]*.md"))
    with_contents(folder / "decisions" / "index.md", decisions)
    tables = sorted(place for place in sources.written if place.startswith("benchmarks/"))
    with_contents(folder / "measured.md", [f"{_shown_as(place)} <{place}>" for place in tables])
    architecture = folder / "architecture.md"
    text = architecture.read_text()
    if flowchart := MERMAID.search(text):
        rooms_picture.draw(flowchart[1], pictures / "rooms.svg")
        picture = "![The rooms, and what they import](pictures/rooms.svg)\n"
        architecture.write_text(text.replace(flowchart[0], picture))


def with_contents(page: Path, below: list[str]) -> None:
    """Put other pages below one in the navigation."""
    listed = "\n".join(below)
    page.write_text(f"{page.read_text()}\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")


def _shown_as(place: str) -> str:
    """Tables of results by their files: many have the same title."""
    if place == "benchmarks/index.md":
        return "How it is measured"
    return place.removeprefix("benchmarks/results/").removesuffix(".md").removesuffix("/index")


def kernels_alone(folder: Path) -> None:
    """Kernels of the tutorials read no settings of whoever builds; their pictures are SVG."""
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    settings = {
        "IPKernelApp": {"log_level": 40},
        "InteractiveShell": {"colors": "nocolor"},
        "InlineBackend": {"figure_formats": ["svg"]},
        "HistoryManager": {"enabled": False},
    }
    (profile / "ipython_kernel_config.json").write_text(json.dumps(settings))
    os.environ["IPYTHONDIR"] = str(folder)


def main() -> int:
    """Build; the exit code is Sphinx's."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--no-gallery", action="store_true", help="do not run the examples")
    given = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    began = time.perf_counter()
    folder = given.output.with_name(f"{given.output.name}-sources")
    assemble(folder, not given.no_gallery)
    kernels_alone(given.output.with_name(f"{given.output.name}-ipython"))
    shutil.rmtree(given.output, ignore_errors=True)
    options = ["-b", "html", "-c", str(HERE), "-W", "-q", "-j", "2", "-d"]
    doctrees = given.output.with_name(f"{given.output.name}-doctrees")
    shutil.rmtree(doctrees, ignore_errors=True)
    failed = sphinx([*options, str(doctrees), str(folder), str(given.output)])
    if failed:
        shutil.rmtree(given.output, ignore_errors=True)  # nothing that is half right
        print("no site was made: see the warnings above")
    else:
        pages = len([*given.output.rglob("*.html")])
        print(f"{pages} pages in {time.perf_counter() - began:.0f} s: {given.output}/index.html")
    return failed


if __name__ == "__main__":
    sys.exit(main())
