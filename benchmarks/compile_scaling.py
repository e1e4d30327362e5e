"""How the time to the first result, and memory, grow with a program.

    python benchmarks/compile_scaling.py [FAMILY ...] [--file FILE]

Each family of `families/` is compiled with k, 2 k and 4 k of what it is about, in a process of its
own and with a cache that has nothing but the engine. Printed are seconds and megabytes, the
exponents of the last doubling, and the steps that grow faster than the size. Marked `!` are
exponents above 1.2 where there is enough to tell; such families are measured again in another
process, and the least figures count. A family is chosen by its name or the beginning of it.

The trap: seconds are those of all processors, which other work on the machine changes little. The
clock shows more where a step waits and less where it uses several cores.
"""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measuring.growth import HEADER, HIGHEST, STEPS_HEADER, Growth, expected
from measuring.machine import describe
from measuring.rounds import OURS, Caches
from measuring.workers import Failed, Worker

CORES = len(os.sched_getaffinity(0))
_LONGEST = 20.0
"""Seconds; a size that would take longer, as those before let expect, is left out."""
_MOST = 4 << 30
"""Bytes, likewise."""
_PATIENCE = 90.0
RESULTS = Path(__file__).parent / "results" / "compile_scaling.md"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--doublings", type=int, default=2)
    parser.add_argument("--divide", type=int, default=1, help="all sizes by so much", metavar="N")
    parser.add_argument("--at-once", type=int, default=CORES, metavar="N", help="so many families")
    parser.add_argument("--file", type=Path, help=f"to write to; else {RESULTS.name}, if all run")
    return parser.parse_args()


def measure(name, smallest, cache, doublings):
    """One family, in one process; the first program is a small one, which does not count."""
    growth = Growth(name)
    worker = Worker(OURS, CORES, cache)
    try:
        worker.ask("grow", _PATIENCE, family=name, k=max(1, smallest // 8))
        for k in (smallest << doubling for doubling in range(doublings + 1)):
            if reason := _too_much(growth):
                growth.problem = f"not {k}, which {reason}"
                break
            growth.figures.append(worker.ask("grow", _PATIENCE, family=name, k=k))
            growth.sizes.append(k)
    except Failed as failed:
        growth.problem = str(failed)
    finally:
        worker.close()
    return growth


def _too_much(growth):
    """Why the next size is left out, or nothing."""
    if (seconds := expected(growth.of("processor"))) > _LONGEST:
        return f"might take {seconds:.0f} s"
    if (held := expected(growth.of("bytes"))) > _MOST:
        return f"might take {held / 1e9:.0f} GB"
    return ""


def measure_all(sizes, doublings, at_once, folder):
    """All of these families, in order, some at once: seconds are those of processors."""
    caches = Caches(folder)

    def measure_family(name):
        growth = measure(name, sizes[name], caches.new(), doublings)
        if growth.too_slow or growth.too_large:
            growth = growth.least(measure(name, sizes[name], caches.new(), doublings))
        return growth

    with ThreadPoolExecutor(at_once) as threads:
        yield from threads.map(measure_family, sizes)


def chosen(sizes, patterns):
    found = {n: k for n, k in sizes.items() if not patterns or any(map(n.startswith, patterns))}
    if not found:
        raise SystemExit(f"no family is named {' '.join(patterns)}; there are: {' '.join(sizes)}")
    return found


def families():
    """The least size of each family, by name; asked of a process that may import diastase."""
    worker = Worker(OURS, 1)
    try:
        return worker.ask("families")["sizes"]
    finally:
        worker.close()


def report(machine, growths):
    """The tables, and what they amount to."""
    found = [growth.name for growth in growths if growth.too_slow or growth.too_large]
    missing = [growth.name for growth in growths if growth.problem]
    parts = [
        "# How compiling grows\n\n"
        "Written by `python benchmarks/compile_scaling.py`, not by hand: what the columns mean is "
        "in `benchmarks/README.md`.\n\n"
        f"- {machine['time']}, commit {machine['commit']}\n"
        f"- {machine['processor']}, {machine['cores']} cores\n"
        f"- {len(growths)} families; above {HIGHEST}: {', '.join(found) or 'none'}"
        + (f"; sizes are missing of {', '.join(missing)}" if missing else ""),
        "\n".join([HEADER, *(growth.line for growth in growths)]),
        "\n".join([STEPS_HEADER, *(growth.steps_line for growth in growths if growth.figures)]),
    ]
    return "\n\n".join(parts) + "\n"


def main():
    given = arguments()
    every = families()
    sizes = {n: max(1, k // given.divide) for n, k in chosen(every, given.families).items()}
    file = given.file or (RESULTS if len(sizes) == len(every) else None)
    machine, growths = describe(), []
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for growth in measure_all(sizes, given.doublings, given.at_once, folder):
            print(growth.line, flush=True)
            growths.append(growth)
            if file is not None:  # each time, as it takes long until all are there
                file.write_text(report(machine, growths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
