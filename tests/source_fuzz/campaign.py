"""A campaign: one process runs programs, another watches it, ends what hangs and writes what is found.

The worker writes each text into a file before it runs it, so that of a crash or a hang the text is left. State and
findings are in `<directory>/<seed>/`: `state.json` has the next number and the counts.
"""

import collections
import json
import multiprocessing
import os
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_PER_WORKER = 400  # what is compiled stays in memory
_START, _LONGEST, _SHRINK = 90, 60, 120  # seconds of processor time: the machine may be busy
_ASLEEP = 20  # times as long on the clock
_KEPT = 3  # of findings that read alike


def run_campaign(directory: Path, seed: int, seconds: float, programs: int, only: list[str] | None) -> collections.Counter[str]:
    """Go on for so long, or for so many programs; the counts since the seed was first used."""
    directory = directory / str(seed)
    directory.mkdir(parents=True, exist_ok=True)
    state_file = directory / "state.json"
    state = json.loads(state_file.read_text()) if state_file.exists() else {"next": 0, "counts": {}}
    counts = collections.Counter(state["counts"])
    end, last = time.monotonic() + seconds, state["next"] + programs
    number = state["next"]
    while time.monotonic() < end and number < last:
        stop = min(number + _PER_WORKER, last)
        for done, kind, verdict, text in _answers(directory, seed, number, stop, only, end):
            counts[f"{kind} {verdict['kind']}"] += 1
            if verdict["kind"] not in ("equal", "both refuse", "lenient", "unsure"):
                _keep(directory, done, kind, verdict, text, counts)
            number = done + 1
            state_file.write_text(json.dumps({"next": number, "counts": counts}, indent=1))
    return counts


def _answers(directory: Path, seed: int, first: int, stop: int, only: list[str] | None, end: float) -> Iterator[tuple[int, str, dict[str, Any], str]]:
    """What one worker finds, until it has done its share, dies or hangs."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    worker = context.Process(target=_work, args=(there, directory, seed, first, stop, only))
    worker.start()
    there.close()
    number, kind, text = first, "?", ""
    patience = _START
    try:
        while number < stop and time.monotonic() < end:
            if not _answers_within(here, worker.pid, patience):
                yield number, kind, {"kind": "FINDING hang", "detail": ""}, text
                return
            message = here.recv()
            patience = _LONGEST
            if message[0] == "begins":
                _, number, kind, text = message
            elif message[0] == "shrinks":
                patience = _SHRINK
            else:
                yield number, kind, *message[1:]
                number += 1
    except EOFError:
        worker.join(10)
        yield (number, kind, {"kind": "FINDING crash", "detail": f"exit code {worker.exitcode}"}, text)
    finally:
        worker.kill()
        worker.join()


def _answers_within(pipe: Connection, process: int | None, patience: float) -> bool:
    """Whether the process says something before it has used so much time, or has slept for long."""
    begin, used = time.monotonic(), _processor_time(process)
    while not pipe.poll(1):
        if _processor_time(process) - used > patience or time.monotonic() - begin > _ASLEEP * patience:
            return False
    return True


def _processor_time(process: int | None) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _keep(directory: Path, number: int, kind: str, verdict: dict[str, Any], text: str, counts: collections.Counter[str]) -> None:
    signature = f"= {verdict.get('signature', verdict['kind'])}"
    counts[signature] += 1
    if counts[signature] <= _KEPT:
        says = f"{kind} {number}: {verdict['kind']}: {verdict['detail']}"
        head = '"""' + says.replace("\\", "/").replace('"""', "'''") + '\n"""\n'
        stem = "finding" if verdict["kind"].startswith("FINDING") else "refused"
        (directory / f"{stem}_{number}.py").write_text(head + text + _FOOT)
        print(says, flush=True)


_FOOT = """
if __name__ == "__main__":
    from pathlib import Path

    from source_fuzz.oracle import check_file

    print(check_file(Path(__file__)))
"""


def _work(pipe: Connection, directory: Path, seed: int, first: int, stop: int, only: list[str] | None) -> None:
    from source_fuzz.oracle import Verdict, check_file
    from source_fuzz.programs import write_program
    from source_fuzz.shrink import shrunk

    attempts = 0

    def verdict_on(text: str) -> Verdict:
        nonlocal attempts
        attempts += 1
        file = directory / f"program_{first}_{attempts}.py"
        file.write_text(text)
        try:
            return check_file(file)
        finally:
            file.unlink()

    for number in range(first, stop):
        kind, text = write_program(seed, number, only)
        pipe.send(("begins", number, kind, text))
        verdict = verdict_on(text)
        if verdict.is_finding:
            pipe.send(("shrinks",))
            text = shrunk(text, lambda one, was=verdict: verdict_on(one).signature == was.signature, _SHRINK / 3)
        pipe.send(("ends", vars(verdict) | {"signature": verdict.signature}, text))
