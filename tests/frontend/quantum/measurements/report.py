"""Print how many measurements without shots are equal, and which are refused.

Run in `tests`: `python -m measurements.report`.
"""

import collections

from frontend.quantum.measurements.runner import CHUNK, cases, difference, outcomes
from frontend.quantum.measurements.tables import NO_EIGENBASIS


def main() -> None:
    """Run all cases."""
    counts: collections.Counter[str] = collections.Counter()
    everything = cases()
    for start in range(0, len(everything), CHUNK):
        chunk = everything[start : start + CHUNK]
        for case, value in zip(chunk, outcomes(chunk), strict=True):
            error = isinstance(value, Exception)
            problem = None if error else difference(case, value)
            counts["refused" if error else "different" if problem else "equal"] += 1
            if error or problem:
                print(case, value if error else problem)
    print(dict(counts), "and probs(op=…) of", len(NO_EIGENBASIS), "observables has no reference")


if __name__ == "__main__":
    main()
