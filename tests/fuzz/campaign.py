"""One worker of a campaign: random programs against one oracle after another, and what was found.

A finding is a file of the corpus: the oracle, what was drawn, shrunk, and the error. The program
that runs is written down before it runs, so that one which ends the process is a finding, too.
"""

import hashlib
import json
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import UnsatisfiedAssumption

from diastase import CompileError
from diastase_mlir import FailedPassError
from fuzz.oracles import ORACLES, Unstable

CORPUS = Path(__file__).parent / "corpus"
BATCH = 10
"""Programs that hypothesis draws from one seed."""


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


def finding(name: str, drawn: dict[str, Any], error: str) -> Path:
    """Write a program into the corpus; equal ones share a file."""
    text = json.dumps({"oracle": name, "drawn": drawn, "error": error}, indent=1)
    digest = hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()[:8]
    path = CORPUS / f"{name}-{digest}.json"
    CORPUS.mkdir(exist_ok=True)
    path.write_text(text + "\n")
    return path


def batch(name: str, seed: int, until: float, running: Path) -> tuple[Counter, Path | None]:
    """Check the programs of one seed: what became of them, and the finding if there is one."""
    counts: Counter = Counter()
    last: dict[str, Any] = {}

    def check(drawn: dict[str, Any]) -> None:
        if time.monotonic() > until and not last:
            raise OutOfTime
        running.write_text(json.dumps({"oracle": name, "drawn": drawn}))
        try:
            counts[judge(name, drawn)] += 1
        except UnsatisfiedAssumption:
            raise
        except Exception as error:
            last.update(drawn=drawn, error="".join(traceback.format_exception_only(error))[:2000])
            raise

    try:
        _given(name, seed, check)()
    except OutOfTime:
        pass
    except Exception:
        if not last:
            raise
        return counts, finding(name, last["drawn"], last["error"])
    return counts, None


def _given(name: str, seed: int, check: Callable) -> Callable:
    options = settings(
        max_examples=BATCH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        print_blob=False,
        report_multiple_bugs=False,
    )
    return seeded(seed)(options(given(ORACLES[name].strategy)(check)))
