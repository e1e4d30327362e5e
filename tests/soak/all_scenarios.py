"""All scenarios, which register themselves where they are defined."""

from soak import calls, compilations, exceptions, processes, signals, threads
from soak.scenarios import SCENARIOS

__all__ = ["SCENARIOS", "calls", "compilations", "exceptions", "processes", "signals", "threads"]
