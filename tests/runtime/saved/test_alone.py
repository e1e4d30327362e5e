"""Saved functions in processes that have NumPy and nothing else of ours, or of anybody."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest
import scipy

import diastase_runtime.version
from diastase import qjit, value_and_grad

RUNTIME = Path(__file__).parents[3] / "runtime"


def test_both_distributions_have_the_licence():
    """As a file: a link leads nowhere in what is built of `runtime` alone."""
    assert not (RUNTIME / "LICENSE").is_symlink()
    assert (RUNTIME / "LICENSE").read_bytes() == (RUNTIME.parent / "LICENSE").read_bytes()


OF_COMPILERS = {
    "diastase", "diastase_engine", "diastase_mlir", "diastase_toolchain",
    "jax", "jaxlib", "llvmlite", "ml_dtypes", "pennylane", "torch_mlir",
}  # fmt: skip

CHILD = """
import json, sys
import numpy as np
import diastase_runtime

def told(value):
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.shape, value.tobytes().hex()]
    return [told(one) for one in value] if isinstance(value, tuple) else value

def call(path, *arguments):
    try:
        return told(diastase_runtime.load(path)(*map(np.array, arguments)))
    except diastase_runtime.errors.DiastaseError as error:
        return [type(error).__name__, str(error)]

results = [call(*each) for each in json.loads(sys.argv[1])]
print(json.dumps([results, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def told(value):
    """As `CHILD` tells it."""
    if isinstance(value, jax.Array):
        return [str(value.dtype), list(value.shape), np.asarray(value).tobytes().hex()]
    return [told(one) for one in value] if isinstance(value, tuple) else value


def in_a_child(calls, python=sys.executable, environment=None):
    """What calls of saved functions give there, and the packages that are imported by then."""
    run = subprocess.run(
        [python, "-c", CHILD, json.dumps(calls)],
        env={**os.environ, **(environment or {})}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    results, modules = json.loads(run.stdout)
    return results, set(modules)


@pytest.fixture
def numpy_alone(tmp_path):
    """A Python with NumPy; what it is asked for besides is linked there."""

    def make(*packages):
        folder = tmp_path / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        site = next(folder.glob("lib/python*/site-packages"))
        for package in (np, *packages):
            source = Path(package.__file__).parent
            for part in (source, source.with_name(f"{source.name}.libs")):
                if part.exists():
                    (site / part.name).symlink_to(part)
        return str(folder / "bin" / "python")

    return make


@qjit(seed=5)
def draws(x):
    @qml.set_shots(100)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit():
        qml.RX(x, wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.sample(), qml.counts()

    return circuit()


@qjit
def energy(x):
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(x):
        qml.RX(x[0], wires=0)
        qml.CRY(x[1], wires=[0, 1])
        return qml.expval(qml.Z(1))

    return value_and_grad(circuit)(x)


@qjit
def on_wire(k):
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit():
        qml.RX(0.5, wires=k)
        return qml.probs()

    return circuit()


solves = qjit(lambda a: jnp.linalg.solve(a, a[0]) + jnp.sum(jnp.sin(a)))


def saved_ones():
    """Functions, saved; calls of them, and what these give here."""
    matrix = [[2.0, 1.0], [1.0, 3.0]]
    here = [draws(1.3), energy(jnp.array([0.4, 0.9])), on_wire(1), solves(jnp.array(matrix))]
    for function in (draws, energy, on_wire, solves):
        function.save(f"{function.__name__}.diastase", sources=True)
    calls = [
        ("draws.diastase", 1.3), ("energy.diastase", [0.4, 0.9]), ("on_wire.diastase", 1),
        ("<lambda>.diastase", matrix),
    ]  # fmt: skip
    return calls, [told(result) for result in here]


def test_no_compiler_is_imported():
    calls, here = saved_ones()
    results, modules = in_a_child(calls[:3])
    assert results == here[:3]
    assert not modules & {*OF_COMPILERS, "scipy"}
    results, modules = in_a_child(calls)
    assert results == here
    assert not modules & OF_COMPILERS


def test_where_there_is_numpy_alone(numpy_alone):
    calls, here = saved_ones()
    results, modules = in_a_child(calls, numpy_alone(diastase_runtime), {"PYTHONPATH": ""})
    assert results[:3] == here[:3]
    assert results[3][0] == "MissingPackageError"
    assert "numpy" in modules
    assert not modules & {*OF_COMPILERS, "scipy"}


def test_where_there_are_numpy_and_scipy(numpy_alone):
    calls, here = saved_ones()
    qjit(lambda x: x * 2).save("narrow.diastase", types="bf16[3]")
    python = numpy_alone(diastase_runtime, scipy)
    results, _ = in_a_child([*calls, ("narrow.diastase", 1)], python, {"PYTHONPATH": ""})
    assert results[:4] == here
    assert results[4][0] == "MissingPackageError"
    assert "ml_dtypes" in results[4][1]


def test_the_distribution_of_its_own(numpy_alone, tmp_path):
    """`pip install diastase-runtime`: the wheel has what saved functions need, and nothing else."""
    build = pytest.importorskip("hatchling.builders.wheel").WheelBuilder
    (wheel,) = build(str(RUNTIME)).build(directory=str(tmp_path))
    python = numpy_alone(scipy)
    install = ["--python", python, "install", "--no-index", "--no-deps", "--quiet", wheel]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    calls, here = saved_ones()
    results, modules = in_a_child(calls, python, {"PYTHONPATH": ""})
    assert results == here
    assert not modules & OF_COMPILERS
    (folder,) = (
        Path(python).parents[1].glob("lib/python*/site-packages/diastase_runtime-*.dist-info")
    )
    told = metadata.Distribution.at(folder)
    assert told.version == diastase_runtime.version.__version__
    assert [name for name in told.requires if "extra ==" not in name] == ["numpy"]
    assert {Path(file).parts[0].partition("-")[0] for file in told.files or ()} == {
        "diastase_runtime"
    }


def test_errors_have_the_users_lines_where_there_is_no_source():
    saved_ones()
    text = Path("on_wire.diastase").read_bytes().replace(__file__.encode(), b"")
    assert b"qml.RX(0.5, wires=k)" in text
    [[kind, message]], _ = in_a_child([("on_wire.diastase", 7)])
    assert kind == "WireOutOfRangeError"
    assert f"--> {__file__}:" in message
    assert "qml.RX(0.5, wires=k)" in message


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_are_as_many_as_the_variable_says(threads):
    program = (
        "import os, numpy, diastase_runtime;"
        "f = diastase_runtime.load('f.diastase'); g = diastase_runtime.load('f.diastase');"
        "before = len(os.listdir('/proc/self/task'));"
        "x = numpy.ones(3_000_000); f(x); g(x);"
        "print(len(os.listdir('/proc/self/task')) - before)"
    )
    qjit(lambda x: jnp.sqrt(x) * 2 + x).save("f.diastase", types="f64[n]")
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={**os.environ, "DIASTASE_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert int(run.stdout) == int(threads) - 1  # one pool for both


def test_a_forked_process_goes_on():
    program = (
        "import os, numpy, diastase_runtime;"
        "f = diastase_runtime.load('f.diastase'); before = f(0).tolist(); child = os.fork();"
        "same = [f(0).tolist(), diastase_runtime.load('f.diastase')(0).tolist()] == [before] * 2;"
        "child or os._exit(0 if same else 1);"
        "print(os.waitpid(child, 0)[1])"
    )
    on_wire.save("f.diastase", types="i64")
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout == "0\n"
