"""The plugin by which a test session checks rewritings, and says at its end how many.

What compares them is loaded with the first one: most tests of classical programs have none. With
xdist, worker processes tell what they have counted when they end.
"""

import sys
import time
from collections import Counter
from typing import Any

import pytest

import sampled
from diastase_mlir.rewritings import watching


class Validation:
    """The hooks; one of so many rewritings is checked."""

    def __init__(self, config: pytest.Config, one_of: int) -> None:
        self._seen: set[int] = set()
        self._one_of = one_of
        self._failures: list[AssertionError] = []
        self._seconds: Counter[str] = Counter()
        """Of a processor: `spent` for this, and `total`."""
        self._gathered: Counter[tuple[str, str]] = Counter()
        """From worker processes."""
        watched = watching(self._check)
        watched.__enter__()
        config.add_cleanup(lambda: watched.__exit__(None, None, None))

    def _check(self, rewriting: Any) -> None:
        start = time.thread_time()
        from translation.validation import check  # noqa: PLC0415

        try:
            check(rewriting, self._seen, self._one_of)
        except AssertionError as error:
            self._failures.append(error)
            raise
        finally:
            self._seconds["spent"] += time.thread_time() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Any:
        """What is wrong fails the test, also where what compiled it has caught the error."""
        self._failures.clear()
        result = yield
        if self._failures:
            raise self._failures[0]
        return result

    def pytest_sessionfinish(self, session: Any) -> None:
        self._seconds["total"] = time.process_time()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            counts = [[*key, count] for key, count in _counts().items()]
            output["translation"] = {"counts": counts, "seconds": dict(self._seconds)}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        told = getattr(node, "workeroutput", {}).get("translation")
        if told is not None:
            self._seconds.update(told["seconds"])
            for name, outcome, count in told["counts"]:
                self._gathered[name, outcome] += count

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        counts = self._gathered + _counts()
        if counts:
            from translation.validation import report  # noqa: PLC0415

            terminalreporter.section("translation validation")
            for line in report(counts):
                terminalreporter.line(line)
            spent, total = self._seconds["spent"], self._seconds["total"]
            terminalreporter.line(f"{spent:.1f} of {total:.1f} seconds of a processor")


def begin(config: pytest.Config) -> None:
    """Check the session's rewritings, as many as are asked for."""
    one_of = sampled.checked()
    if one_of is not None:
        config.pluginmanager.register(Validation(config, one_of), "translation")


def _counts() -> Counter[tuple[str, str]]:
    loaded = sys.modules.get("translation.validation")
    return Counter() if loaded is None else loaded.COUNTS
