"""`target_device`: programs with state vectors on a GPU that is none (`emulated_gpu`).

The reference is the program on the processor, whose own tests have independent ones, or a formula.
"""

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import cond, for_loop, measure, qjit, value_and_grad
from diastase.jit.options.errors import InvalidOptionError
from diastase_mlir.driver import compilation, compile_program
from diastase_runtime import gpu, libraries, load
from diastase_runtime.errors import (
    GpuFailedError,
    GpuUnavailableError,
    OutOfMemoryError,
)
from emulated_gpu import EmulatedDriver, emulated


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> EmulatedDriver:
    """One for the process: an engine is told of its driver once."""
    return EmulatedDriver(tmp_path_factory.mktemp("gpu"))


@pytest.fixture
def on_gpu(driver: EmulatedDriver) -> Iterator[EmulatedDriver]:
    with emulated(driver):
        driver.settings()
        yield driver
        driver.settings()


def circuit_of(wires: int):
    device = qml.device("lightning.qubit", wires=wires)

    def circuit(x):
        @for_loop(0, wires, 1)
        def layer(wire):
            qml.RY(x * (wire + 1), wires=wire)
            qml.CNOT(wires=[wire, (wire + 1) % wires])

        layer()
        qml.IsingXY(x, wires=[0, 2])
        qml.Toffoli(wires=[0, 1, 2])
        return qml.expval(qml.PauliX(0) @ qml.PauliY(2)), qml.probs(wires=[2, 0])

    return qml.QNode(circuit, device)


@pytest.mark.parametrize("wires", [3, 12])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_results_are_those_of_the_processor(on_gpu, wires: int, precision: str) -> None:
    there = qjit(circuit_of(wires), target_device="gpu", precision=precision)
    here = qjit(circuit_of(wires), precision=precision)
    for x in (0.3, 1.7):
        for found, wanted in zip(there(x), here(x), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, atol=1e-12 if precision == "double" else 2e-6)
        # Machine code is the same, and each has its engine to the end.
        assert there.report().work.launches > 0
        assert there.report().work.to_host < 16 << 10
        assert here.report().work.launches == 0


def test_outcomes_and_what_depends_on_them(on_gpu) -> None:
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(x):
        qml.RY(x, wires=0)
        first = measure(0, reset=True)

        @cond(first)
        def turn():
            qml.RX(x, wires=1)

        turn()
        return first, measure(1), qml.probs(wires=[0, 1, 2])

    there, here = qjit(circuit, target_device="gpu", seed=5), qjit(circuit, seed=5)
    seen = set()
    for k in range(8):
        found, wanted = there(1.0 + k), here(1.0 + k)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
        seen.add((int(found[0]), int(found[1])))
    assert len(seen) > 1


def test_samples_are_those_of_the_processor(on_gpu) -> None:
    @qml.set_shots(200)
    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def circuit(x):
        for wire in range(4):
            qml.RY(x * (wire + 1), wires=wire)
        return qml.sample()

    there, here = qjit(circuit, target_device="gpu", seed=1), qjit(circuit, seed=1)
    np.testing.assert_array_equal(there(0.7), here(0.7))
    assert there.report().work.to_host == 8 * (1 + 200)  # the weight of all, and each shot


def test_shots_of_noise_are_those_of_the_processor(on_gpu) -> None:
    """Trajectories draw as samples do, and what each draws does not depend on where."""

    @qml.set_shots(300)
    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def circuit(x):
        for wire in range(4):
            qml.RY(x * (wire + 1), wires=wire)
            qml.BitFlip(0.2, wires=wire)
            qml.AmplitudeDamping(0.3, wires=wire)
        measure(0, reset=True)
        qml.CNOT(wires=[1, 0])
        return qml.sample(wires=[3, 0, 1]), qml.counts(wires=[2])

    there = qjit(circuit, target_device="gpu", seed=1, method="trajectories")
    here = qjit(circuit, seed=1, method="trajectories")
    found, wanted = there(0.7), here(0.7)
    np.testing.assert_array_equal(found[0], wanted[0])
    assert {str(key): int(count) for key, count in found[1].items()} == {
        str(key): int(count) for key, count in wanted[1].items()
    }
    assert len(np.unique(np.asarray(found[0]), axis=0)) == 4
    assert there.report().work.launches > 0


def test_matrices_are_applied_and_measured_there(on_gpu) -> None:
    """Matrices are applied and measured on the GPU; amplitudes are copied once, to be returned."""
    wires, random = 12, np.random.default_rng(3)
    matrix = np.linalg.qr(random.normal(size=(8, 8)) + 1j * random.normal(size=(8, 8)))[0]
    hermitian = matrix[:4, :4] + matrix[:4, :4].conj().T

    def circuit(x):
        for step in range(3):
            for wire in range(wires):
                qml.RY(x * (wire + 1 + step), wires=wire)
            qml.CNOT(wires=[0, wires - 1])
            qml.QubitUnitary(matrix, wires=[0, 3, 6])
        return (
            qml.expval(qml.PauliZ(0)),
            qml.var(qml.PauliX(0) @ qml.PauliY(3)),
            qml.var(qml.Hermitian(hermitian, wires=[6, 1])),
            qml.expval(qml.Hermitian(hermitian, wires=[0, 3])),
            qml.probs(wires=[3, 0]),
            qml.state(),
        )

    run = qjit(qml.QNode(circuit, qml.device("lightning.qubit", wires=wires)), target_device="gpu")
    wanted = qml.QNode(circuit, qml.device("default.qubit", wires=wires))
    for found, value in zip(run(0.4), wanted(0.4), strict=True):
        np.testing.assert_allclose(found, value, atol=1e-11)
    work, size = run.report().work, 16 << wires
    assert (work.to_device // size, work.to_host // size) == (0, 1)


def energy(wires: int):
    terms = [qml.Z(wire) @ qml.Z(wire + 1) for wire in range(wires - 1)]
    terms += [qml.X(wire) @ qml.Y(0) for wire in range(1, wires)]
    return qml.expval(qml.Hamiltonian([-1.0, 0.5] * (wires - 1), terms))


@pytest.mark.parametrize(
    "measured",
    [energy, lambda _: qml.probs(wires=[2, 0]), lambda _: qml.var(qml.Z(0) @ qml.X(3))],
    ids=["energy", "probabilities", "variance"],
)
def test_gradients_are_swept_back_there(on_gpu, measured) -> None:
    """No amplitudes are copied, neither those of the state nor those of its adjoint."""
    wires, layers = 12, 2

    def circuit(x):
        for k in range(layers):
            for wire in range(wires):
                qml.RX(x[k, wire], wires=wire)
            for wire in range(wires - 1):
                qml.IsingZZ(x[k, wire] * x[0, 0], wires=[wire, wire + 1])
            qml.PauliRot(x[k, 1], "XYZXYZ", wires=range(1, 12, 2))
            qml.SWAP(wires=[0, 5])
        return measured(wires)

    def loss_on(device: str):
        run = qml.QNode(circuit, qml.device(device, wires=wires))

        def loss(x):
            found = run(x)
            return jnp.sum(found * (1.0 + jnp.arange(found.size)).reshape(found.shape))

        return loss

    x = jnp.array(np.random.default_rng(1).normal(size=(layers, wires)))
    there = qjit(lambda x: value_and_grad(loss_on("lightning.qubit"))(x), target_device="gpu")
    wanted = jax.value_and_grad(loss_on("default.qubit"))(x)
    for found, value in zip(there(x), wanted, strict=True):
        np.testing.assert_allclose(found, value, atol=1e-11)
    work = there.report().work
    assert max(work.to_device, work.to_host) < 16 << wires


def entangled(wires: int, interface: str = "lightning.qubit"):
    """A circuit whose gates are of all kinds that lane registers have."""

    @qml.qnode(qml.device(interface, wires=wires))
    def circuit(x):
        for wire in range(wires):
            qml.RX(x[0] * (wire + 1), wires=wire)
            qml.RZ(x[1], wires=wire)
            qml.CNOT(wires=[wire, (wire + 1) % wires])
        qml.Rot(x[0], x[1], 0.3, wires=0)
        qml.IsingXY(x[0], wires=[0, 2])
        qml.SWAP(wires=[0, 1])
        qml.ctrl(qml.RY, control=[0, 1], control_values=[1, 0])(x[1], wires=2)
        qml.CSWAP(wires=[2, 0, 1])
        qml.QubitUnitary(np.eye(4)[[0, 2, 3, 1]], wires=[0, 2])
        words = [qml.Z(0) @ qml.X(2), qml.Y(0) @ qml.Y(1), qml.Z(wires - 1)]
        return qml.expval(qml.dot([0.5, -1.0, 2.0], words)), qml.probs(wires=[2, 0]), qml.state()

    return circuit


@pytest.mark.parametrize(("wires", "count"), [(3, 20), (9, 8), (10, 13)])
def test_batches_are_launched_together(on_gpu, wires: int, count: int) -> None:
    batch = jnp.array(np.random.default_rng(2).normal(size=(count, 2)))
    run = qjit(lambda x: jax.vmap(entangled(wires))(x), target_device="gpu")
    wanted = jax.vmap(entangled(wires, "default.qubit"))(batch)
    for found, value in zip(run(batch), wanted, strict=True):
        np.testing.assert_allclose(found, value, atol=1e-11)
    assert 0 < run.report().work.launches < 6 * wires  # for all elements


@pytest.mark.parametrize("count", [4, 300])
def test_batches_of_a_size_that_is_not_known(on_gpu, count: int) -> None:
    circuit = entangled(3)
    run = qjit(
        lambda x: jax.vmap(lambda y: circuit(y)[1])(x),
        abstracted_axes={0: "n"},
        target_device="gpu",
    )
    here = qjit(lambda x: jax.vmap(lambda y: circuit(y)[1])(x))
    batch = jnp.array(np.random.default_rng(3).normal(size=(count, 2)))
    np.testing.assert_allclose(run(batch), here(batch), atol=1e-12)


def test_outcomes_in_a_batch_are_those_of_the_processor(on_gpu) -> None:
    @qml.qnode(qml.device("lightning.qubit", wires=4))
    def circuit(x):
        for wire in range(4):
            qml.RY(x * (wire + 1), wires=wire)
        first = measure(0, reset=True)

        @cond(first)
        def turn():
            qml.RX(x, wires=1)
            qml.CNOT(wires=[1, 0])

        turn()
        return first, measure(1), qml.probs(wires=[0, 2, 3])

    batch = jnp.linspace(0.1, 3.0, 50)
    there, here = (
        qjit(lambda x: jax.vmap(circuit)(x), target_device=device, seed=5)
        for device in ("gpu", "cpu")
    )
    for found, wanted in zip(there(batch), here(batch), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_samples_in_a_batch_are_those_of_the_processor(on_gpu) -> None:
    @qml.set_shots(100)
    @qml.qnode(qml.device("lightning.qubit", wires=3))
    def circuit(x):
        for wire in range(3):
            qml.RY(x * (wire + 1), wires=wire)
        return qml.sample()

    batch = jnp.linspace(0.1, 3.0, 20)
    there, here = (
        qjit(lambda x: jax.vmap(circuit)(x), target_device=device, seed=1)
        for device in ("gpu", "cpu")
    )
    np.testing.assert_array_equal(there(batch), here(batch))


def test_large_elements_of_a_batch_are_launched_apart(on_gpu) -> None:
    @qml.qnode(qml.device("lightning.qubit", wires=13))
    def circuit(x):
        qml.RX(x, wires=0)
        qml.CNOT(wires=[0, 10])
        return qml.expval(qml.PauliZ(10))

    run = qjit(lambda x: jax.vmap(circuit)(x), target_device="gpu")
    angles = jnp.linspace(0.0, 3.0, 5)
    np.testing.assert_allclose(run(angles), np.cos(angles), atol=1e-12)
    assert run.report().work.launches >= 5


def test_the_report_says_where_it_ran(on_gpu) -> None:
    run = qjit(circuit_of(3), target_device="gpu")
    run(0.1)
    first = run.report().work
    assert min(first.launches, first.to_device, first.to_host) > 0
    run(0.2)
    assert run.report().work == first  # of one call
    text = str(run.report())
    assert "state vectors on a GPU: Emulated GPU" in text
    assert "launches" in text
    assert qjit(lambda x: 2 * x, target_device="gpu")(1.0) == 2.0
    classical = qjit(lambda x: 2 * x, target_device="gpu")
    classical(1.0)
    assert classical.report().gpu is None


def test_memory_is_given_back(on_gpu) -> None:
    qjit(circuit_of(5), target_device="gpu")(0.2)
    assert on_gpu.settings() == 0


def test_what_an_abandoned_call_has_left_is_released_by_an_engine_that_knows_of_a_gpu(
    on_gpu, monkeypatch
) -> None:
    """Not by that of density matrices, which the program has, too."""

    @qml.qnode(qml.device("default.mixed", wires=1))
    def noisy(x):
        qml.RX(x, wires=0)
        qml.DepolarizingChannel(0.1, wires=0)
        return qml.expval(qml.Z(0))

    run = qjit(lambda x: (noisy(x[0]), jax.vmap(entangled(3))(x)), target_device="gpu")
    artifact = run.trace(jnp.ones((8, 2))).lower().compile().compilation.artifact
    assert artifact.mixed is not None
    asked: list[str] = []
    address = libraries.symbol_address

    def symbol_address(imported, artifact):
        asked.append(imported.library)
        return address(imported, artifact)

    monkeypatch.setattr(libraries, "symbol_address", symbol_address)
    libraries._releaser("state_release", artifact)
    assert asked == ["lanes"]


def test_too_little_memory_is_an_error_at_the_line(on_gpu) -> None:
    run = qjit(circuit_of(14), target_device="gpu")
    on_gpu.settings(limit=1 << 16)
    with pytest.raises(OutOfMemoryError, match="memory"):
        run(0.1)
    on_gpu.settings()
    assert on_gpu.settings() == 0
    run(0.1)


def test_what_fails_on_the_gpu_is_an_error_and_the_next_call_goes_well(on_gpu) -> None:
    run = qjit(circuit_of(3), target_device="gpu")
    wanted = run(0.1)
    on_gpu.settings(failing=7, failure=719)
    with pytest.raises(GpuFailedError, match="returned CUDA's error 719"):
        run(0.1)
    on_gpu.settings()
    np.testing.assert_allclose(run(0.1)[1], wanted[1])


def test_saved_functions_run_on_the_processor(on_gpu, tmp_path: Path) -> None:
    run = qjit(circuit_of(3), target_device="gpu")
    wanted = run(0.1)
    run.save(tmp_path / "saved.diastase")
    np.testing.assert_allclose(load(tmp_path / "saved.diastase")(0.1)[1], wanted[1], atol=1e-12)


def test_memory_that_a_launch_has_not_is_an_error_that_says_so(on_gpu) -> None:
    run = qjit(circuit_of(3), target_device="gpu")
    run(0.1)
    on_gpu.settings(failing=8, failure=2)
    with pytest.raises(GpuFailedError, match=r"(?s)error 2.*too little memory left"):
        run(0.1)


@pytest.mark.parametrize(
    ("function", "code", "cached"),
    [("cuModuleLoadData", 218, True), ("cuModuleGetFunction", 500, False)],
)
def test_a_driver_that_does_not_take_the_kernels(
    driver: EmulatedDriver, monkeypatch: pytest.MonkeyPatch, function: str, code: int, cached: bool
) -> None:
    if not cached:  # a library then goes with the program that it was built for
        for module in (compilation, compile_program):
            monkeypatch.setattr(module, "program_cache", lambda: None)
    monkeypatch.setattr(driver, "failing", (function, code))
    monkeypatch.setattr(libraries, "_engine", cache(libraries._engine.__wrapped__))  # as at first
    failure = f"{function} returned CUDA's error {code}"
    with emulated(driver):
        with pytest.raises(GpuUnavailableError, match=failure):
            qjit(circuit_of(3), target_device="gpu")(0.1)
        run = qjit(circuit_of(3), target_device="auto")
        for found, wanted in zip(run(0.1), qjit(circuit_of(3))(0.1), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-12)
        gc.collect()
        report = run.report()
        assert report.gpu is None
        assert report.work.launches == 0
        assert failure in report.no_gpu
        assert f"state vectors on the processor: {report.no_gpu}" in str(report)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"failing": ("cuInit", 100)}, "there is no NVIDIA GPU: cuInit returned CUDA's error 100"),
        ({"failing": ("cuInit", 803)}, "the driver in the kernel is of another version"),
        ({"version": 10020}, "the driver is for CUDA 10.2, 11.0 is needed"),
        ({"capability": (7, 5)}, "Emulated GPU has compute capability 7.5, 8.0 is needed"),
    ],
    ids=["no GPU", "mismatch", "old driver", "old GPU"],
)
def test_why_there_is_no_gpu(
    driver: EmulatedDriver, monkeypatch: pytest.MonkeyPatch, changes: dict, reason: str
) -> None:
    for name, value in changes.items():
        monkeypatch.setattr(driver, name, value)
    with emulated(driver):
        with pytest.raises(GpuUnavailableError, match=reason):
            qjit(circuit_of(3), target_device="gpu")(0.1)
        run = qjit(circuit_of(3), target_device="auto")
        run(0.1)
        assert run.report().gpu is None
        assert reason in run.report().no_gpu
        classical = qjit(lambda x: 2 * x, target_device="auto")
        classical(1.0)
        assert classical.report().no_gpu is None


def test_a_driver_without_a_function() -> None:
    reason = "CUDA's driver has no function cuInit"
    with emulated(object()):
        with pytest.raises(GpuUnavailableError, match=reason):
            qjit(circuit_of(3), target_device="gpu")(0.1)
        run = qjit(circuit_of(3), target_device="auto")
        run(0.1)
        assert run.report().no_gpu == reason


def test_without_a_driver_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "_DRIVERS", ("libno-such-driver",))
    gpu._found.cache_clear()
    with pytest.raises(GpuUnavailableError, match="libno-such-driver, is not installed"):
        qjit(circuit_of(3), target_device="gpu")(0.1)


def test_a_forked_process_has_no_gpu(on_gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu.find_gpu()
    ours = os.getpid()
    known = qjit(circuit_of(3), target_device="gpu")
    known(0.1)
    monkeypatch.setattr(os, "getpid", lambda: ours + 1)
    assert known.report().gpu == "Emulated GPU"
    with pytest.raises(GpuUnavailableError, match="was forked"):
        qjit(circuit_of(3), target_device="gpu")(0.1)


def test_auto_takes_the_gpu_where_there_is_one(on_gpu) -> None:
    run = qjit(circuit_of(3), target_device="auto")
    run(0.1)
    assert run.report().gpu == "Emulated GPU"


def test_other_names_are_refused() -> None:
    with pytest.raises(InvalidOptionError, match="target_device"):
        qjit(circuit_of(3), target_device="cuda")
