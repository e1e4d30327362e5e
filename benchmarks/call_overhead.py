"""What a call of a compiled program costs from Python, beside `jax.jit` and Catalyst.

A scalar function, a circuit of one gate, and one of 22 gates on 4 qubits. `jax.jit` has the
circuits through PennyLane's `default.qubit`. Medians of several runs, the systems in turn.
"""

import statistics

from systems import SYSTEMS, measure, print_table

REPETITIONS = 3


def main():
    """Measure all systems, check that they agree, print the table."""
    runs = {system: [] for system in SYSTEMS}
    for _ in range(REPETITIONS):
        for system in SYSTEMS:
            runs[system].append(measure(system, "calls"))
    rows = {name: {} for name in ("scalar", "rotation", "circuit")}
    for name, times in rows.items():
        for system, measured in runs.items():
            found = [run[name] for run in measured if run]
            times[system] = statistics.median(found) if found else None
        values = [run[f"{name} value"] for measured in runs.values() for run in measured if run]
        assert max(values) - min(values) < 1e-9, f"the systems disagree about {name}: {values}"
    print_table("time of one call", "us", rows, SYSTEMS)


if __name__ == "__main__":
    main()
