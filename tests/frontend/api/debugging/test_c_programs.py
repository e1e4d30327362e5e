"""Programs without Python: a fresh process, without an environment, prints what Python returns."""

import shutil
import subprocess
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import debug, qjit


def run(binary):
    """What a program prints, by place in the pytree, or what it says when it fails."""
    done = subprocess.run([str(binary)], capture_output=True, text=True, env={})
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr


def run_source(text, tmp_path):
    """The same of C source, which is compiled without a warning."""
    (tmp_path / "main.c").write_text(text)
    command = ["cc", "-Wall", "-Wextra", "-Werror", "-o", "main", "main.c", "-ldl", "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    return run(tmp_path / "main")


def read(value):
    words = {"nan": np.nan, "infj": 1j * np.inf, "inf": np.inf}
    return np.asarray(eval(value, words), object)  # which keeps integers as they are


def assert_prints(output, results, rounded="none"):
    """Every result to the last bit; but for those below `rounded`, which LAPACK and BLAS round."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(results)
    lines = output.splitlines()
    assert len(lines) == len(leaves)
    for line, (path, leaf) in zip(lines, leaves, strict=True):
        place, _, value = line.rpartition(": ") if path else ("", "", line)
        assert place == jax.tree_util.keystr(path)
        with np.errstate(invalid="ignore"):  # NaN in 16 bits
            found = read(value).astype(leaf.dtype).reshape(leaf.shape)
        wide = complex if jnp.issubdtype(leaf.dtype, jnp.inexact) else leaf.dtype  # NaN of bfloat16
        tolerance = 1e-13 if place.startswith(rounded) else 0
        np.testing.assert_allclose(
            found.astype(wide), np.asarray(leaf).astype(wide), rtol=tolerance, atol=0
        )


def test_all_element_types_ranks_and_pytrees(tmp_path):
    rng = np.random.default_rng(3)
    integers = [np.iinfo(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
    arguments = {
        "integers": [np.array([[kind.min], [kind.max]], kind.dtype) for kind in integers],
        "floats": [
            jnp.asarray([0.1, -2.5e-7, jnp.inf, -jnp.inf, jnp.nan, -0.0, 65504.0], kind)
            for kind in (jnp.float16, jnp.bfloat16, jnp.float32, jnp.float64)
        ],
        "complex": [jnp.asarray(rng.normal(size=(2, 1, 3)) + 1.5j, t) for t in ("c8", "c16")],
        "empty": (np.zeros((0, 3)), np.zeros((2, 0), np.int8)),
        "scalars": (True, -7, 0.1, 1e300 - 2j, np.float32(0.1)),
        "wires?": np.array([[[True], [False]]]),
    }
    matrix = rng.normal(size=(3, 3))

    @qjit
    def everything(arguments, a, n: int):
        u, s, _ = jnp.linalg.svd(a)  # LAPACK; products are BLAS's; ours: `sin` of vectors, sorts
        sums = jnp.sort(jnp.cumsum(jnp.sin(jnp.arange(n) * 1.0)))
        return arguments, (u @ (a @ jnp.ones((3, 3))), s), sums[: n // 2]

    for n in (7, 4):
        status, output = run_source(debug.get_cmain(everything, arguments, matrix, n), tmp_path)
        assert status == 0
        # Where an array lies decides how OpenBLAS rounds.
        assert_prints(output, everything(arguments, matrix, n), rounded="[1]")


@pytest.mark.parametrize("c_dtype", [np.complex64, np.complex128])
def test_circuits_draw_what_python_draws(c_dtype, tmp_path):
    @qjit(seed=11)
    @qml.set_shots(7)
    @qml.qnode(qml.device("lightning.qubit", wires=3, c_dtype=c_dtype))
    def circuit(angles, wire):
        qml.RX(angles["x"], wires=wire)
        qml.Hadamard(2)
        qml.ctrl(qml.RY, control=0)(angles["y"][1], wires=1)
        qml.measure(0)
        return qml.sample(), qml.expval(qml.Z(0) @ qml.Y(1))

    angles = {"x": 0.9, "y": jnp.array([0.1, 1.2])}
    source = debug.get_cmain(circuit, angles, 0)
    status, output = run_source(source, tmp_path)
    assert status == 0
    assert_prints(output, circuit(angles, 0))
    assert all(word in source for word in ("diastase", "int main(void)", "float64[2]"))
    status, output = run_source(debug.get_cmain(circuit, angles, 7), tmp_path)
    assert status == 1
    assert output.startswith("Wire out of range: RX on wire 7 of a device with 3 wires")
    assert f"{__file__}:" in output


def test_executables_run_where_they_are_moved_to(tmp_path):
    @qjit
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit(x: float):
        qml.RX(x, wires=0)
        qml.CNOT(wires=[0, 1])
        return qml.probs()

    binary = Path(debug.compile_executable(circuit, 1))  # declared as a float
    assert binary == tmp_path / "circuit" / "circuit.out"
    shutil.move(binary.parent, tmp_path / "elsewhere")
    status, output = run(tmp_path / "elsewhere" / "circuit.out")
    assert status == 0
    assert_prints(output, circuit(1.0))
    names = {path.name for path in (tmp_path / "elsewhere").iterdir()}
    assert names == {
        "circuit.c", "circuit.out", "circuit_library.so", "circuit_engine.so", "circuit_threads.so",
    }  # fmt: skip


def test_programs_with_edited_ir_static_arguments_and_no_results(tmp_path):
    @qjit(static_argnums=1, keep_intermediate=True)
    def f(x, n):
        return x * (x + n)

    f(3.0, 4)
    text = debug.get_compilation_stage(f, "scalars")
    debug.replace_ir(f, "scalars", text.replace("arith.mulf", "arith.subf"))
    binary = Path(debug.compile_executable(f, 5.0, 4))
    assert binary.parent == f.workspace
    assert run(binary) == (0, "-4.0\n")
    assert run_source(debug.get_cmain(qjit(lambda: ())), tmp_path) == (0, "")
