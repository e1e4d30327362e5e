"""Maps on a cluster: the results of this process, whatever workers there are and become of them."""

import concurrent.futures
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections import namedtuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit, value_and_grad
from diastase.distributed import map
from diastase_runtime.distributed import futures as on_cluster
from diastase_runtime.distributed import workers
from diastase_runtime.distributed.errors import (
    CancelledMapError,
    ClusterLostError,
    InvalidClientError,
    LostWorkersError,
    MappedElementError,
    UnequalResultsError,
    UnfitWorkerError,
)
from diastase_runtime.errors import WireOutOfRangeError
from diastase_runtime.saved import processors
from diastase_runtime.saved.errors import MissingProcessorFeaturesError, UnservedArgumentsError

distributed = pytest.importorskip("distributed")
COMPILERS = {"diastase", "diastase_mlir", "jax", "jaxlib", "llvmlite", "pennylane", "torch_mlir"}


@contextlib.contextmanager
def local_cluster(workers):
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
    with (
        mock.patch.dict(os.environ),  # in which Dask leaves what is meant for workers
        distributed.LocalCluster(n_workers=workers, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with local_cluster(2) as client:
        yield client


@qjit
def train(angles):
    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def energy(angles):
        qml.AngleEmbedding(angles["x"], wires=range(4))
        for wire in range(3):
            qml.CRY(angles["y"], wires=[wire, wire + 1])
        return qml.expval(qml.Z(3) @ qml.X(0))

    return value_and_grad(energy)(angles)


@qjit
def draws(x):
    @qml.set_shots(30)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit():
        qml.RX(x, wires=0)
        return qml.counts(wires=0), qml.sample(wires=0)

    return circuit()


@qjit
def on_wire(wire):
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit():
        qml.X(wires=wire)
        return qml.probs()

    return circuit()


Found = namedtuple("Found", ["x", "rest"])
slow = qjit(lambda x: jax.lax.fori_loop(0, 200_000, lambda _, c: jnp.sin(c) + x, x))


def bits(tree):
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]


def batch(count):
    random = np.random.default_rng(count)
    return {"x": random.uniform(-3, 3, (count, 4)), "y": random.uniform(-3, 3, count)}


def test_results_are_those_of_this_process(client):
    """However the batch is cut; what workers have imported compiles nothing."""
    here = bits(map(train, batch(41)))
    for size in (None, 1, 7, 40, 41, 1000):
        assert bits(map(train, batch(41), client=client, chunk_size=size)) == here
    imported = client.run(lambda: {name.partition(".")[0] for name in sys.modules})
    assert len(imported) == 2
    for names in imported.values():
        assert "diastase_runtime" in names
        assert not names & COMPILERS


def test_a_worker_loads_a_function_once(client):
    function = qjit(lambda x: jax.lax.fori_loop(0, 50_000, lambda _, c: jnp.cos(c) * x, x))
    mapped = map(function, np.ones(40), client=client, chunk_size=2, futures=True)
    mapped.result()
    map(function, np.ones(50), client=client, chunk_size=2)
    loads = client.run(workers.number_of_loads, mapped.work.checksum)
    assert len(loads) == 2
    assert max(loads.values()) == 1


def test_named_tuples_are_of_the_users_class(client):
    function = qjit(lambda x: Found(x, {"y": 2 * x}))
    assert type(map(function, np.ones(4), client=client)) is Found
    mapped = map(function, np.ones(4), client=client, futures=True)
    assert type(mapped.result()) is Found


def test_random_numbers_do_not_depend_on_the_workers(client):
    angles = np.linspace(0, 3, 9)
    for options in ({"repeats": 1}, {"repeats": 5}):
        counts, samples = map(draws, angles, seed=3, **options)
        for size in (1, 4, None):
            found = map(draws, angles, seed=3, client=client, chunk_size=size, **options)
            assert found[0] == counts
            assert found[1].tobytes() == samples.tobytes()


def test_shots_do_not_depend_on_the_workers(client):
    """2003 of each element: 3 parts of 667, and one of 2, cut between tasks wherever it may be."""

    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(x):
        qml.RX(x, wires=0)
        return qml.expval(qml.Z(0)), qml.var(qml.Z(0)), qml.probs(), qml.sample(), qml.counts()

    angles = np.linspace(0, 3, 5)
    *arrays, counts = map(circuit, angles, shots=2003, seed=3)
    for size in (1, 2, 4, None):
        found = map(circuit, angles, shots=2003, seed=3, client=client, chunk_size=size)
        assert found[-1] == counts
        assert bits(found[:-1]) == bits(arrays)


def test_results_that_stay_on_the_cluster(client):
    mapped = map(train, batch(20), client=client, chunk_size=6, futures=True)
    assert repr(mapped) == "<MappedFutures train: 20 elements in 4 chunks>"
    assert len(mapped) == len(mapped.futures) == 4
    sums = client.map(lambda part: part.tree()[0].sum(), mapped.futures)
    values, _ = mapped.result()
    assert sum(client.gather(sums)) == pytest.approx(values.sum())
    assert bits(mapped.result()) == bits(map(train, batch(20)))


def test_batches_that_are_written_after_they_were_given(client):
    """Parts of them are sent later."""
    numbers, same = np.ones((500, 2000)), np.broadcast_to(np.arange(3.0), (500, 3))
    function = qjit(lambda x, y: x.sum() + y.sum())
    mapped = map(function, numbers, same, client=client, futures=True, chunk_size=50)
    numbers[:] = 7
    same.base[:] = 7
    assert np.unique(mapped.result()).tolist() == [2003]


def test_a_batch_larger_than_a_message(client, monkeypatch):
    monkeypatch.setattr(on_cluster, "_BYTES_AT_ONCE", 100)
    numbers = np.arange(400.0).reshape(20, 20)
    function = qjit(lambda x: x.sum())
    assert bits(map(function, numbers, client=client, chunk_size=3)) == bits(numbers.sum(1))


def test_progress_is_shown(client, capsys):
    map(train, batch(10), client=client, progress=True)
    assert "100% Completed" in capsys.readouterr().out


def test_the_first_element_that_fails_is_named(client):
    wires = np.zeros(30, int)
    wires[[11, 12, 29]] = 7, 8, 9
    for size in (1, 4, 30, None):
        with pytest.raises(MappedElementError, match="element 11 of on_wire") as caught:
            map(on_wire, wires, client=client, chunk_size=size)
        assert caught.value.index == 11
        assert isinstance(caught.value.__cause__, WireOutOfRangeError)
        assert "qml.X(wires=wire)" in str(caught.value)


def test_results_of_different_sizes(client):
    sized = qjit(lambda n: jnp.ones(n))
    with pytest.raises(UnequalResultsError, match=r"float64\[2\] .* float64\[3\] for element 2"):
        map(sized, np.array([2, 2, 3, 3]), client=client, chunk_size=2)


def test_types_that_a_function_was_not_saved_for(client):
    qjit(lambda x: x).save("f.diastase", types="f64[3]")
    with pytest.raises(UnservedArgumentsError):
        map("f.diastase", np.ones((5, 2)), client=client)


def test_workers_whose_processor_lacks_something(client):
    def let_have(flags):
        processors.flags.cache_clear()
        processors.PROCESSORS = flags

    client.run(let_have, processors.PROCESSORS.with_name("none"))
    try:
        with pytest.raises(UnfitWorkerError, match=r"process \d+ of ") as caught:
            map(qjit(lambda x: jnp.tan(x) - 7), np.ones(8), client=client)
        assert isinstance(caught.value.__cause__, MissingProcessorFeaturesError)
    finally:
        client.run(let_have, processors.PROCESSORS)


def test_a_worker_that_dies(client):
    """Its elements run again, on others or on the one that takes its place."""
    numbers = np.linspace(0, 1, 60)
    here = map(slow, numbers)
    mapped = map(slow, numbers, client=client, chunk_size=2, futures=True)
    mapped.futures[0].result()
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert mapped.result().tobytes() == here.tobytes()
    client.wait_for_workers(2)


def test_results_that_go_with_a_worker_before_they_are_fetched(client, monkeypatch):
    """The scheduler says of a result that is there that it is lost, and later that it is there."""
    lost = []

    class Losing(distributed.as_completed):
        def next_batch(self, block=True):
            batch = super().next_batch(block)
            if not lost:
                lost.append(batch[0])
                state, loop = batch[0]._state, client.loop
                loop.add_callback(state.lose)
                until(lambda: batch[0].status == "lost")
                loop.add_callback(loop.call_later, 0.2, state.finish)
            return batch

    numbers = np.linspace(0, 1, 20)
    mapped = map(slow, numbers, client=client, chunk_size=2, futures=True)
    monkeypatch.setattr(distributed, "as_completed", Losing)
    assert mapped.result().tobytes() == map(slow, numbers).tobytes()
    assert lost


def test_workers_that_die_again_and_again(client):
    """As `allowed-failures` of the scheduler has it."""
    scheduler = client.cluster.scheduler
    before, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        processes = client.run(os.getpid)
        mapped = map(slow, np.ones(2000), client=client, chunk_size=1000, futures=True)
        until = time.monotonic() + 20
        while not any(client.processing().values()) and time.monotonic() < until:
            time.sleep(0.01)
        for process in processes.values():
            os.kill(process, signal.SIGKILL)
        with pytest.raises(LostWorkersError, match=r"elements (0 to 999|1000 to 1999): Attempted"):
            mapped.result()
    finally:
        scheduler.allowed_failures = before
    client.wait_for_workers(2)


def own_futures(client):
    """What of maps is on the cluster, but for the files of functions."""
    gc.collect()
    return [key for key in client.futures if not str(key).startswith("diastase-")]


def until(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


def test_maps_that_fail_leave_nothing_on_the_cluster(client):
    wires = np.array([0, 1, 0, 7, 0, 1])
    until(lambda: not own_futures(client))
    for _ in range(2):
        with pytest.raises(MappedElementError):
            map(on_wire, wires, client=client, chunk_size=1)
        until(lambda: not own_futures(client))
    mapped = map(on_wire, wires, client=client, chunk_size=1, futures=True)
    for _ in range(2):
        with pytest.raises(MappedElementError, match="element 3"):
            mapped.result()
    del mapped
    until(lambda: not own_futures(client))


@pytest.mark.parametrize("size", [None, 1])
def test_maps_that_are_interrupted_end(client, size):
    """Also if the interruption is kept, as interactive Python keeps the last one."""
    # What is started in the background by a shell ignores SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sleepy = qjit(lambda x: jax.lax.fori_loop(0, 10_000_000, lambda _, c: jnp.sin(c) + x, x))
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        map(sleepy, np.ones(400), client=client, chunk_size=size)
    timer.join()
    signal.signal(signal.SIGINT, before)
    until(lambda: not any(client.processing().values()))


def test_a_busy_cluster_says_nothing_of_how_long_calls_take(client):
    """Chunks are neither one for each call nor one for each worker."""
    quick = qjit(lambda x: x + 1)
    numbers = np.arange(100_000.0)
    map(quick, numbers[:4], client=client)
    go = distributed.Event("go", client=client)
    busy = client.map(lambda _: distributed.Event("go").wait(60), range(2), pure=False)
    until(lambda: all(client.processing().values()))
    mapped = map(quick, numbers, client=client, futures=True)
    assert len(mapped) == 33
    threading.Timer(1, go.set).start()
    with mock.patch.object(on_cluster, "MappedFutures", wraps=on_cluster.MappedFutures) as made:
        assert map(quick, numbers, client=client).tolist() == (numbers + 1).tolist()
    assert len(made.call_args.args[3]) < 200
    client.gather(busy)


def test_tasks_that_are_given_up(client):
    mapped = map(slow, np.ones(400), client=client, chunk_size=100, futures=True)
    mapped.cancel()
    with pytest.raises(CancelledMapError, match="400 elements: the map was cancelled"):
        mapped.result()
    with pytest.raises(concurrent.futures.CancelledError):
        mapped.result()


HAS_NO_RUNTIME = """
import sys
sys.modules["diastase_runtime"] = None
"""
HAS_ANOTHER = """
import diastase_runtime.version
diastase_runtime.version.__version__ = "0.0.1"
"""


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (HAS_NO_RUNTIME, "No module named .diastase_runtime"),
        (HAS_ANOTHER, "it has diastase-runtime 0.0.1"),
    ],
)
def test_workers_without_this_package(code, words):
    """They are told before they are sent what they cannot read."""
    with local_cluster(1) as client:
        client.run(exec, code)
        (worker,) = client.nthreads()
        for _ in range(2):
            with pytest.raises(UnfitWorkerError, match=words) as caught:
                map(slow, np.ones(4), client=client)
        assert caught.value.worker == worker
        assert isinstance(caught.value.__cause__, ImportError)
        assert client.submit(int, pure=False).result() == 0  # the worker lives
        assert [*client.nthreads()] == [worker]


@contextlib.contextmanager
def started(tmp_path, code, module, *options):
    """A scheduler or worker in a process of its own, in which this code has run first."""
    preload = tmp_path / "preload.py"
    preload.write_text(code)
    command = [sys.executable, "-m", f"distributed.cli.{module}", "--preload", preload, *options]
    with subprocess.Popen([*command, "--no-dashboard"], stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("code", [HAS_NO_RUNTIME, HAS_ANOTHER])
def test_workers_that_come_in_the_middle_of_a_map(code, tmp_path):
    """One without this package ends itself, and others do its work; another version is told."""
    with local_cluster(1) as client:
        map(slow, np.ones(2), client=client)  # the worker has been asked
        go = distributed.Event("go", client=client)
        busy = client.submit(lambda: distributed.Event("go").wait(60), pure=False)
        until(lambda: any(client.processing().values()))
        mapped = map(slow, np.linspace(0, 1, 6), client=client, chunk_size=1, futures=True)
        address = client.scheduler.address
        options = (address, "--no-nanny", "--nthreads", "1")
        with started(tmp_path, code, "dask_worker", *options) as worker:
            if code == HAS_ANOTHER:
                with pytest.raises(UnfitWorkerError, match=r"has diastase-runtime 0\.0\.1"):
                    mapped.result()
                go.set()
            else:
                worker.wait(60)
                go.set()
                assert mapped.result().tobytes() == map(slow, np.linspace(0, 1, 6)).tobytes()
            client.gather(busy)


def test_a_scheduler_without_this_package(tmp_path):
    place = tmp_path / "scheduler.json"
    options = ("--port", "0", "--scheduler-file", place)
    with (
        started(tmp_path, HAS_NO_RUNTIME, "dask_scheduler", *options),
        distributed.Client(scheduler_file=str(place), timeout=60) as client,
        pytest.raises(UnfitWorkerError, match="on the scheduler: ") as caught,
    ):
        map(slow, np.ones(4), client=client)
    assert caught.value.worker == "the scheduler"


def test_clusters_that_go_away_and_clients_that_cannot_be_asked():
    with local_cluster(1) as client:
        mapped = map(slow, np.ones(2000), client=client, futures=True)
        closing = threading.Timer(0.2, client.cluster.close)
        closing.start()
        with pytest.raises(ClusterLostError, match="2000 elements"):
            mapped.result()
        closing.join()
        with pytest.raises(ClusterLostError):
            map(slow, np.ones(2), client=client)
        with pytest.raises(InvalidClientError, match="LocalCluster"):
            map(slow, np.ones(2), client=client.cluster)
        client.close()
        with pytest.raises(ClusterLostError, match="the client is closed"):
            map(slow, np.ones(2), client=client)
        with pytest.raises(ClusterLostError, match="the client is closed"):
            mapped.result()
