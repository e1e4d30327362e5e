"""Maps on a local cluster: a sweep on one worker and on two, what tasks cost, a model of more.

    python benchmarks/cluster.py [--elements 10000] [--rounds 3] [--write]

The sweep is the energy of a hardware-efficient ansatz of 12 qubits. One worker and two take turns;
the ratio is the median of such rounds. Of each there is the share of the processors' time that
went to other processes. A round waits for a quiet machine, `--wait 60` seconds at most.
`--write` makes results/cluster.md.
"""

import argparse
import os
import platform
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import distributed
import numpy as np
import psutil
from ansatz import LAYERS, QUBITS, energy

from diastase import qjit
from diastase.distributed import map as map_elements
from diastase_runtime.distributed import workers
from diastase_runtime.distributed.batches import read_batch
from diastase_runtime.distributed.chunks import chunk_size
from diastase_runtime.distributed.elements import Work
from diastase_runtime.saved.function import read_content
from diastase_runtime.version import __version__

RESULTS = Path(__file__).parent / "results" / "cluster.md"


empty = qjit(lambda x: x)


class Cluster:
    """Workers with a thread each, and the processes' time."""

    def __init__(self, stack: ExitStack, count: int) -> None:
        self.cluster = stack.enter_context(
            distributed.LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0")
        )
        self.client = stack.enter_context(distributed.Client(self.cluster))
        self._processes = [psutil.Process(pid) for pid in self.client.run(os.getpid).values()]

    def processors(self) -> np.ndarray:
        """Seconds of this process, which is client and scheduler, and of the workers."""
        workers = sum(sum(process.cpu_times()[:2]) for process in self._processes)
        return np.array([time.process_time(), workers])

    def timed(self, function: Any, batch: np.ndarray, **options: Any) -> dict[str, Any]:
        """Map, with its seconds: of the clock, of client and scheduler, of workers."""
        machine = _busy()
        before, began = self.processors(), time.perf_counter()
        results = map_elements(function, batch, client=self.client, **options)
        seconds = time.perf_counter() - began
        here, workers = self.processors() - before
        others = (_busy() - machine - here - workers) / seconds / (os.cpu_count() or 1)
        return {
            "results": results, "seconds": seconds, "here": here, "workers": workers,
            "others": max(0.0, 100 * others),
        }  # fmt: skip


def _busy() -> float:
    """Seconds for which processors of this computer were busy."""
    times = psutil.cpu_times()
    return sum(times) - times.idle - times.iowait - times.guest - times.guest_nice


def wait_for_quiet(seconds: float) -> None:
    """Wait until nobody else has used more than a twentieth of the processors for a moment."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        before = _busy()
        time.sleep(0.5)
        if _busy() - before < 0.05 * 0.5 * (os.cpu_count() or 1):
            return


def sweep(
    clusters: list[Cluster], elements: int, rounds: int, wait: float
) -> tuple[list[str], float]:
    """One worker and two, in turns."""
    angles = np.random.default_rng(0).uniform(-3, 3, (elements, LAYERS, QUBITS, 2))
    few = angles[: max(1, elements // 20)]
    map_elements(energy, few[:10])
    began = time.process_time()
    here = map_elements(energy, few)
    element = (time.process_time() - began) / len(few)
    runs: list[list[dict[str, Any]]] = [[], []]
    chunks: list[int] = []
    for cluster in clusters:
        futures = map_elements(energy, angles, client=cluster.client, futures=True)
        chunks.append(len(futures))
        futures.result()
    for _ in range(rounds):
        for of_cluster, cluster in zip(runs, clusters, strict=True):
            wait_for_quiet(wait)
            of_cluster.append(cluster.timed(energy, angles))
            assert of_cluster[-1]["results"][: len(few)].tobytes() == here.tobytes()
            assert of_cluster[-1]["results"].tobytes() == runs[0][0]["results"].tobytes()
    lines = [
        f"{elements} elements; one takes {1e3 * element:.3f} ms of a processor in one process.",
        "",
        "| workers | chunks | s | processors' s: client, scheduler | workers | others |",
        "|---|---|---|---|---|---|",
    ]
    for number, of_cluster in enumerate(runs):
        lines += [
            f"| {number + 1} | {chunks[number]} | {each['seconds']:.2f} | {each['here']:.2f} "
            f"| {each['workers']:.2f} | {each['others']:.0f} % |"
            for each in of_cluster
        ]
    one, two = runs
    ratios = [a["seconds"] / b["seconds"] for a, b in zip(one, two, strict=True)]
    least = {
        name: [min(run[name] for run in of_cluster) for of_cluster in runs]
        for name in ("seconds", "here", "workers")
    }
    share = 100 * least["workers"][1] / (least["workers"][1] + least["here"][1])
    bound = 2 * least["workers"][0] / (least["workers"][1] + least["here"][1])
    lines += [
        "",
        f"Two workers are {np.median(ratios):.2f} times as fast as one, the median of rounds that "
        f"follow each other ({min(ratios):.2f} to {max(ratios):.2f}); by the fastest rounds of "
        f"each, {least['seconds'][0] / least['seconds'][1]:.2f} times. The workers have "
        f"{share:.0f} % of the processors' time of a map. By the least of those times, two were "
        f"{bound:.2f} times as fast on two cores that do nothing else. Results are the same bits, "
        "of all rounds and of this process.",
    ]
    return lines, element


def overheads(cluster: Cluster) -> tuple[list[str], float, float]:
    """What a function that does nothing costs; also the seconds of a task and of a map."""
    chunks = 1000
    numbers = np.arange(float(chunks))
    cluster.timed(empty, numbers[:4], chunk_size=1)
    many = [cluster.timed(empty, numbers, chunk_size=1) for _ in range(3)]
    many_elements = np.arange(200_000.0)
    whole = min(
        cluster.timed(empty, many_elements, chunk_size=len(many_elements))["workers"]
        for _ in range(3)
    )
    began = time.perf_counter()
    fresh = qjit(lambda x: x + 1)
    fresh(1.0)
    compiled = time.perf_counter() - began
    first = cluster.timed(fresh, numbers[:2], chunk_size=1)["seconds"]
    second = min(cluster.timed(fresh, numbers[:2], chunk_size=1)["seconds"] for _ in range(5))
    best = {name: min(each[name] for each in many) for name in ("seconds", "here", "workers")}
    scheduler = best["here"] / chunks
    lines = [
        "| what | ms |",
        "|---|---|",
        f"| a task, by the clock, 1000 in a row on two workers | {best['seconds']:.3f} |",
        f"| a task, client and scheduler's processor | {best['here']:.3f} |",
        f"| a task, worker's processor | {best['workers']:.3f} |",
        f"| of which ours, in the worker | {1e3 * own_share():.3f} |",
        f"| an element in a chunk, worker's processor | {1e3 * whole / len(many_elements):.4f} |",
        f"| a first map of a function, beyond a second one | {1e3 * (first - second):.0f} |",
        f"| a map of two elements that the cluster knows | {1e3 * second:.0f} |",
        f"| compiling that function here | {1e3 * compiled:.0f} |",
    ]
    return lines, scheduler, second


def own_share() -> float:
    """Seconds of a processor that a chunk takes without Dask: one element, nothing computed."""
    batch = read_batch((np.ones(1),))
    with TemporaryDirectory() as folder:
        path = empty.save(Path(folder, "empty.diastase"), types="f64")
        content, checksum, manifest = read_content(path)
    work = Work(
        manifest.name, checksum, (0,), manifest.programs[0].out_structure, 0, 1, 1, __version__
    )
    workers.run_chunk(content, work, batch.columns, 0, 1)
    began = time.process_time()
    for _ in range(5000):
        workers.run_chunk(content, work, batch.columns, 0, 1)
    return (time.process_time() - began) / 5000


def model(element: float, scheduler: float, latency: float) -> list[str]:
    """Seconds by the formula of docs/cluster.md, on more workers than there are here."""
    lines = [
        "| elements | workers | elements of a chunk | chunks | s | times one worker |",
        "|---|---|---|---|---|---|",
    ]
    for calls in (10_000, 1_000_000, 100_000_000):
        for threads in (1, 10, 100, 1000):
            size = chunk_size(calls, element, threads)
            chunks = -(-calls // size)
            rounds = -(-chunks // threads)
            seconds = latency + max(rounds * (size * element + scheduler), chunks * scheduler)
            times = calls * element / seconds
            lines.append(
                f"| {calls:,} | {threads} | {size} | {chunks} | {seconds:.2f} | {times:.1f} |"
            )
    return lines


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wait", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        clusters = [Cluster(stack, workers) for workers in (1, 2)]
        lines, element = sweep(clusters, given.elements, given.rounds, given.wait)
        costs, scheduler, latency = overheads(clusters[1])
    command = ["git", "-C", str(RESULTS.parent), "describe", "--always", "--dirty"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    text = [
        "# Maps on a cluster",
        "",
        f"`python benchmarks/cluster.py` on {time.strftime('%Y-%m-%d')} at {commit}, Python "
        f"{platform.python_version()}, Dask {distributed.__version__}, {os.cpu_count()} cores with "
        f"client, scheduler and workers on them. The load was {load:.1f} when it began.",
        "",
        f"## The energy of an ansatz of {QUBITS} qubits in {LAYERS} layers",
        "",
        *lines,
        "",
        "## What a task, an element and a function cost",
        "",
        "The function is the identity on a number, each task has one element.",
        "",
        *costs,
        "",
        "## More workers, by the model of [docs/cluster.md](../../docs/cluster.md)",
        "",
        *model(element, scheduler, latency),
        "",
    ]
    print("\n".join(text))
    if given.write:
        RESULTS.write_text("\n".join(text))


if __name__ == "__main__":
    main()
