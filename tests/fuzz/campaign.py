"""Random programs of one oracle, what becomes of each, and what was found, shrunk."""

import json
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import seed as seeded
from hypothesis.errors import UnsatisfiedAssumption

from diastase import CompileError
from diastase_mlir import FailedPassError
from fuzz.children import Refused
from fuzz.corpus import finding
from fuzz.judging import Unstable
from fuzz.oracles import ORACLES
from fuzz.shrinking import shrunk

BATCH = 10
"""Programs that hypothesis draws from one seed."""

PHASES = (Phase.generate, Phase.shrink)


_CHECKED: set[str] = set()
"""Programs that this process has found right: each batch begins with the same simplest one."""


class OutOfTime(BaseException):
    """The campaign is over; not the program's fault."""


def judge(name: str, drawn: dict[str, Any]) -> str:
    """Check one program: `right`, `unstable` or `refused`; raises where it is wrong."""
    try:
        ORACLES[name].check(**drawn)
    except Unstable:
        return "unstable"
    except FailedPassError:
        raise  # a pass of ours or of MLIR's that stumbled is no refusal
    except CompileError as error:
        return f"refused: {type(error).__name__}: {str(error).splitlines()[0]}"
    return "right"


def batch(name: str, seed: int, until: float, running: Path) -> tuple[Counter, Path | None]:
    """Check the programs of one seed: what became of them, and the finding if there is one.

    The program that runs is in the file `running`: what ends the process is a finding, too.
    """
    counts: Counter = Counter()
    last: dict[str, Any] = {}

    def check(drawn: dict[str, Any]) -> None:
        if time.monotonic() > until and not last:
            raise OutOfTime
        text = json.dumps({"oracle": name, "drawn": drawn})
        if text in _CHECKED:
            reject()
        running.write_text(text)
        try:
            counts[judge(name, drawn)] += 1
            _CHECKED.add(text)
        except UnsatisfiedAssumption:
            raise
        except Exception as error:
            last.update(drawn=drawn, kind=_kind(error), error=_text(error))
            raise

    try:
        _given(name, seed, check)()
    except OutOfTime:
        pass
    except Exception:
        if not last:
            raise
        if Phase.shrink in PHASES:
            _shrink(name, last)
        return counts, finding(name, last["drawn"], last["error"])
    return counts, None


def _shrink(name: str, last: dict[str, Any]) -> None:
    """Take parts out of what hypothesis has left, as long as it fails in the same way."""

    def is_wrong(drawn: dict[str, Any]) -> bool:
        try:
            judge(name, drawn)
        except Exception as error:
            if _kind(error) != last["kind"]:
                return False
            last.update(drawn=drawn, error=_text(error))
            return True
        return False

    shrunk(last["drawn"], is_wrong)


def _kind(error: Exception) -> tuple[type, str]:
    """What shrinking keeps: of an exception in a child, which it was there."""
    return type(error), str(error).partition(":")[0] if isinstance(error, Refused) else ""


def _text(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error))[:2000]


def _given(name: str, seed: int, check: Callable) -> Callable:
    options = settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=PHASES,
        print_blob=False,
        report_multiple_bugs=False,
    )
    return seeded(seed)(options(given(ORACLES[name].strategy)(check)))
