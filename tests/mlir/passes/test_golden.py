"""Each pass of the pipeline: a module before it, and the module after it, in files to be read.

`golden/<pass>.mlir`, or `golden/<pass>-<case>.mlir`, has both, with `// becomes` between them.
`pytest --update-golden` writes what comes after. Passes that start at some hundred operations have
tests of their own instead.
"""

from pathlib import Path

import pytest

from diastase_mlir.bindings import session
from diastase_mlir.bindings.pass_pipeline import PassError
from diastase_mlir.dialects import DIALECTS, parse, printed
from diastase_mlir.driver.pipeline import PYTHON_PASSES

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(path.stem for path in FOLDER.glob("*.mlir"))
BECOMES = "\n// becomes\n"

LARGE = {"bounded_fusion", "outline_parts", "inline_parts", "equal_loops", "split_functions"}
"""Passes that a module of some lines does not show: `test_<pass>` makes larger ones."""


def test_every_pass_has_an_example():
    assert {name.partition("-")[0] for name in FILES} == PYTHON_PASSES.keys() - LARGE


@pytest.mark.parametrize("name", FILES)
def test_what_a_pass_makes(name, golden):
    path = FOLDER / f"{name}.mlir"
    before = path.read_text().split(BECOMES)[0]
    with session(DIALECTS):
        module = parse(before)
        try:
            PYTHON_PASSES[name.partition("-")[0]](module)
        except PassError as error:
            after = f"// an error: {error.args[0]}\n"
        else:
            assert module.operation.verify()
            after = printed(module)
    golden(path, before + BECOMES + after)
