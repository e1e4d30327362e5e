"""What a user sees: each `<topic>/<case>.py` is a user's mistake, `<case>.err` the message.

A case defines `program()`, which raises. The golden text holds the exception's class, the built-in
classes that a user could catch it by, and the message, with the file's own path as `$FILE`.
"""

import runpy
from pathlib import Path

import pytest

from diastase import DiastaseError

HERE = Path(__file__).parent
CASES = sorted(path for path in HERE.glob("*/*.py") if path != Path(__file__))


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_error_message(case, golden):
    program = runpy.run_path(str(case))["program"]
    with pytest.raises(DiastaseError) as caught:
        program()
    error = caught.value
    bases = [base for base in type(error).__mro__ if base.__module__ == "builtins"]
    caught_by = ", ".join(base.__name__ for base in bases if not issubclass(Exception, base))
    text = f"{type(error).__name__} ({caught_by})\n{error}\n".replace(str(case), "$FILE")
    golden(case.with_suffix(".err"), text)
