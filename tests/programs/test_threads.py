"""Threads from the outside: numbers of them, forks, callers at once, the end of the interpreter."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from textwrap import dedent

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit
from diastase_runtime.errors import DiastaseError
from forks import forked

PROGRAM = """
    import sys
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import numpy as np
    import pennylane as qml
    from diastase import qjit

    @qjit
    def classical(a):
        return jnp.sin(a) * a, (a * a).sum(), a.reshape(1000, -1).sum(0)

    @qjit
    @qml.qnode(qml.device("default.qubit", wires=15))
    def quantum(angles):
        for wire in range(15):
            qml.RY(angles[wire], wires=wire)
            qml.RZ(angles[wire] * 2, wires=wire)
        for wire in range(14):
            qml.CNOT(wires=[wire, wire + 1])
        return qml.expval(qml.Z(0) @ qml.X(14)), qml.probs(wires=[3, 9])

    a = np.linspace(-3, 3, 500_000)
    results = [*classical(a), *quantum(np.arange(15.0))]
    np.savez(sys.argv[1], *results)
"""


DRAWING = """
    import sys
    import jax
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import numpy as np
    import pennylane as qml
    from diastase import cond, for_loop, measure, qjit, set_method

    def device(wires, kind="default.mixed"):
        return qml.device(kind, wires=wires)

    @qml.qnode(device(3, "lightning.qubit"), shots=3000, mcm_method="one-shot")
    def fed_forward(x):
        @for_loop(0, 4, 1)
        def turn(k):
            qml.RX(x + k, 0)
            outcome = measure(0, reset=True)
            cond(outcome)(lambda: qml.RY(x, 1))()
            qml.CNOT([1, 2])
        turn()
        return qml.sample(), qml.expval(qml.Z(1)), qml.counts(measure(2))

    def noisy(x, wires):
        for wire in range(wires):
            qml.RX(x, wire)
            qml.DepolarizingChannel(0.1, wires=wire)
            qml.AmplitudeDamping(0.2, wires=wire)
        for wire in range(wires - 1):
            qml.CNOT([wire, wire + 1])

    def averages(x, wires=3):
        noisy(x, wires)
        outcome = measure(0)
        cond(outcome)(lambda: qml.RX(x, 1))()
        return qml.expval(qml.Z(0) @ qml.Z(1)), qml.probs(wires=[2, 1]), qml.var(qml.X(1))

    def samples(x):
        noisy(x, 3)
        return qml.sample(), qml.probs(wires=[0, 2])

    by_trajectories = set_method(
        qml.QNode(averages, device(3)), "trajectories", 3000, standard_errors=True
    )
    of_shots = set_method(qml.QNode(samples, device(3), shots=3000), "trajectories")
    on_many_wires = set_method(
        qml.QNode(lambda x: averages(x, 18), device(18)), "trajectories", 12
    )

    @qml.qnode(device(4, "lightning.qubit"))
    def random_circuit(angles):
        for layer in range(3):
            for wire in range(4):
                qml.Rot(*angles[layer, wire], wire)
            qml.CNOT([layer, layer + 1])
        return qml.expval(qml.Z(0) @ qml.X(3)), qml.probs()

    x, angles = 0.7, np.random.default_rng(1).normal(size=(200, 3, 4, 3))
    results = (
        qjit(fed_forward, seed=1)(x),
        qjit(by_trajectories, seed=2)(x),
        qjit(of_shots, seed=3)(x),
        qjit(on_many_wires, seed=4)(x),
        qjit(jax.vmap(random_circuit))(angles),
        qjit(jax.vmap(qml.set_shots(random_circuit, 100)), seed=5)(angles),
        qjit(jax.vmap(by_trajectories), seed=6)(jnp.linspace(0.0, 1.0, 3)),
    )
    np.savez(sys.argv[1], *jax.tree_util.tree_leaves(results))
"""


def run(code: str, *arguments: str, threads: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    if threads is not None:
        environment["DIASTASE_NUM_THREADS"] = threads
    command = [sys.executable, "-W", "error", "-c", dedent(code), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.thorough
def test_results_for_one_two_three_and_eight_threads(tmp_path) -> None:
    results = []
    for threads in ("1", "2", "3", "8", None):
        path = tmp_path / f"{threads}.npz"
        done = run(PROGRAM, str(path), threads=threads)
        assert (done.returncode, done.stderr) == (0, "")
        with np.load(path) as archive:
            results.append([archive[name] for name in archive.files])
    for other in results[1:]:
        for value, expected in zip(other[:3], results[0][:3], strict=True):
            np.testing.assert_array_equal(value, expected)  # classical programs: the same bits
        for value, expected in zip(other[3:], results[0][3:], strict=True):
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-12)


@pytest.mark.thorough
def test_what_is_drawn_does_not_depend_on_the_number_of_threads(tmp_path) -> None:
    """Shots one by one, trajectories, elements of batches: bit for bit, in processes apart."""
    results = []
    for threads in ("1", "2"):
        path = tmp_path / f"{threads}.npz"
        done = run(DRAWING, str(path), threads=threads)
        assert done.returncode == 0, done.stderr
        with np.load(path) as archive:
            results.append([archive[name] for name in archive.files])
    one, two = results
    assert len(one) == len(two) > 15
    for alone, shared in zip(one, two, strict=True):
        assert alone.dtype == shared.dtype
        np.testing.assert_array_equal(alone, shared)
    assert sum(np.ptp(array) > 0 for array in one) > 12  # it is of what was drawn


def test_one_thread_makes_none_and_a_wrong_number_is_an_error() -> None:
    done = run(
        """
        import os
        import jax.numpy as jnp
        from diastase import qjit
        total = qjit(lambda n: jnp.sin(jnp.arange(n) * 1.0).sum())
        total(10)
        before = len(os.listdir("/proc/self/task"))
        total(3_000_000)
        assert len(os.listdir("/proc/self/task")) == before
        """,
        threads="1",
    )
    assert (done.returncode, done.stderr) == (0, "")
    wrong = "import jax.numpy as jnp, diastase\ndiastase.qjit(lambda n: jnp.ones(n).sum())(3)"
    done = run(wrong, threads="many")
    assert done.returncode == 1
    assert "DIASTASE_NUM_THREADS is 'many'" in done.stderr


A = np.linspace(-3, 3, 700_001)


@qjit
def moments(a):
    """Large loops, one after another."""
    return jnp.cos(a) * 2, (a * a).sum()


def are_right(repeats: int = 3) -> bool:
    for _ in range(repeats):
        values, square = moments(A)
        right = np.allclose(values, np.cos(A) * 2) and np.allclose(square, (A * A).sum())
        if not right:
            return False
    return True


@pytest.mark.filterwarnings("ignore:.*fork")
def test_forked_processes() -> None:
    assert are_right()
    with multiprocessing.get_context("fork").Pool(2) as children:
        assert children.map(are_right, [2, 2, 2, 2]) == [True] * 4
    child = forked(are_right)
    assert are_right()
    assert os.waitpid(child, 0)[1] == 0
    assert are_right()


def test_eight_callers_at_once() -> None:
    @qjit
    @qml.qnode(qml.device("default.qubit", wires=14))
    def circuit(angle):
        for wire in range(14):
            qml.RX(angle * (wire + 1), wires=wire)
        for wire in range(13):
            qml.CNOT(wires=[wire, wire + 1])
        return qml.expval(qml.Z(13))

    def expected(angle: float) -> float:
        return float(np.prod(np.cos(angle * np.arange(1, 15))))

    circuit(0.1)
    are_right(1)
    right: list[bool] = []

    def call(number: int) -> None:
        for k in range(5):
            angle = 0.01 * number + 0.1 * k
            right.append(are_right(1) and np.isclose(circuit(angle), expected(angle), atol=1e-12))

    callers = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(120)
    assert right == [True] * 40


def test_idle_threads_use_no_time() -> None:
    are_right(1)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.02


def test_a_program_that_fails_between_large_loops() -> None:
    def checked(a, n):
        total = jnp.sin(a).sum()
        return (jnp.ones(n - 3) * total).sum() + jnp.cos(a).sum()

    compiled = qjit(checked)
    expected = np.sin(A).sum() * 2 + np.cos(A).sum()
    for _ in range(3):
        np.testing.assert_allclose(compiled(A, 5), expected, rtol=1e-9)
        with pytest.raises(DiastaseError):
            compiled(A, 1)
    assert are_right()


@pytest.mark.thorough
def test_the_interpreter_ends_while_threads_work() -> None:
    """In the middle of a call that would take minutes, which a daemon thread has made."""
    done = run(
        """
        import threading
        import numpy as np
        from diastase import for_loop, qjit
        halved = qjit(lambda a, n: for_loop(0, n, 1)(lambda i, x: x * 0.5 + a)(a))
        a = np.ones(500_000)
        halved(a, 10)
        threading.Thread(target=halved, args=(a, 10**7), daemon=True).start()
        threading.Event().wait(0.3)
        """,
        threads="3",
    )
    assert (done.returncode, done.stderr) == (0, "")
