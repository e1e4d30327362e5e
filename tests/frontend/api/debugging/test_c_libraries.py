"""Saved functions as libraries of C: built without a warning; they give Python's results."""

import shutil
import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pytest

from diastase import qjit
from diastase.__main__ import main
from diastase.debugging.c_libraries import export_c
from diastase.jit.options.saving_errors import ChooseProgramError, SaveError

EXAMPLE = Path(__file__).parents[4] / "examples" / "embed"
STRICT = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]


def exported(function, name, **options):
    function.save("f.diastase", **options)
    return export_c(Path("f.diastase"), Path("build"), name=name)


def run_c(name, body, environment=None, *, compiler="cc", file="main.c"):
    """What a program prints that includes the header; status, output and errors."""
    Path(file).write_text(f'#include "{name}.h"\n#include <stdio.h>\n{body}\n')
    source = Path("build", f"{name}.c")
    checked = ["cc", *STRICT, "-fsyntax-only", str(source)]
    subprocess.run(checked, check=True)
    command = [compiler, *STRICT, "-Ibuild", "-o", "main", file, "-Lbuild", f"-l{name}"]
    subprocess.run([*command, "-Wl,-rpath,$ORIGIN/build"], check=True)
    run = subprocess.run(["./main"], capture_output=True, text=True, env=environment or {})
    return run.returncode, run.stdout, run.stderr


BODY = r"""
int main(void)
{
    double x[6] = { 1, 2, 3, 4, 5, 6.5 };
    float z[2] = { 1, -2 };
    struct several_results r;
    if (several(3, 2, z, true, -7, x, &r))
        return puts(several_error()), 1;
    for (int64_t i = 0; i < r.result_y_sizes[0]; ++i)
        for (int64_t j = 0; j < r.result_y_sizes[1]; ++j)
            printf("%.17g ", r.result_y[i * r.result_y_sizes[1] + j]);
    printf("\n%d %g%+gi %d %.17g\n", r.result_flag, r.result_z[0], r.result_z[1],
           (int)r.result_same_sizes[0], r.result_same[2]);
    several_free(&r);
    several_free(&r); /* does nothing */
    return several(-1, 2, z, true, -7, x, &r) == -1 ? puts(several_error()), 0 : 1;
}
"""


def several(x, entry, **named):
    z = named["class"]
    y = x * named["k"]
    flat = x.reshape(-1)
    return {"y": y, "flag": ~entry, "z": z * 1j, "same": flat, "again": flat}


def test_arguments_and_results_of_every_kind():
    types = {"x": "f64[n,m]", "entry": "bool", "k": "i8", "class": "c64"}
    exported(qjit(several), "several", types=types)
    header = Path("build/several.h").read_text()
    assert "int64_t n,\n" in header
    assert "const float *x_class," in header
    status, output, errors = run_c("several", BODY)
    assert (status, errors) == (0, "")
    x = np.array([1, 2, 3, 4, 5, 6.5])
    lines = output.splitlines()
    assert [float(word) for word in lines[0].split()] == (x * -7).tolist()
    assert lines[1] == "0 2+1i 6 3"
    assert lines[2] == "n is negative"


SIZES = r"""
int main(void)
{
    double x[3] = { 1, 2, 3 };
    struct f_results r;
    if (f(3, 0.5, x, &r))
        return puts(f_error()), 1;
    printf("%d %g %g\n", (int)r.result_a_sizes[0], r.result_a[2], r.result_a_sizes_);
    f_free(&r);
    return 0;
}
"""


def test_names_that_lengths_of_axes_have():
    """A result `a_sizes` beside an array `a`; an open size whose name C does not have."""
    exported(
        qjit(lambda x, k: {"a": x * k, "a_sizes": k}), "f", types={"x": "f64[int]", "k": "f64"}
    )
    header = Path("build/f.h").read_text()
    assert " *     x[x_int]: x, float64\n" in header
    assert " *     result_a[x_int]: result['a'], float64\n" in header
    assert run_c("f", SIZES) == (0, "3 1.5 0.5\n", "")


def test_products_and_elementary_functions():
    """By SciPy's BLAS, and by our own library."""
    function = qjit(lambda x: jnp.sum(jnp.sin(x @ x.T)))
    exported(function, "total", types="f64[n,n]")
    body = """
    int main(void)
    {
        double x[4] = { 0.1, 0.2, 0.3, 0.4 };
        struct total_results r;
        for (int i = 0; i < 2; ++i) {
            if (total(2, x, &r)) return puts(total_error()), 1;
            printf("%.17g\\n", r.result);
            total_free(&r);
        }
        return 0;
    }"""
    status, output, _ = run_c("total", body)
    wanted = float(function(jnp.array([[0.1, 0.2], [0.3, 0.4]])))
    assert status == 0
    np.testing.assert_allclose([float(line) for line in output.split()], wanted, rtol=1e-15)


@qjit(seed=4)
def draws(x, k):
    @qml.set_shots(20)
    @qml.qnode(qml.device("lightning.qubit", wires=2))
    def circuit():
        qml.RX(x, wires=k)
        return qml.sample(wires=0)

    return circuit()


def test_circuits_seeds_and_errors():
    exported(draws, "draws", types="f64, i64", sources=True)
    body = """
    int main(void)
    {
        struct draws_results r;
        for (int wire = 0; wire < 8; wire += 7) {
            if (draws(1.5, wire, &r)) return puts(draws_error()), draws_free(&r), 3;
            for (int i = 0; i < r.result_sizes[0]; ++i) printf("%d", (int)r.result[i]);
            puts("");
            draws_free(&r);
        }
        return 0;
    }"""
    status, output, _ = run_c("draws", body, {"DIASTASE_NUM_THREADS": "2"})
    assert status == 3
    first, *rest = output.splitlines()
    assert first == "".join(map(str, np.asarray(draws(1.5, 0)).reshape(-1).tolist()))
    assert rest[0] == "Wire out of range: RX on wire 7 of a device with 2 wires"
    assert any(f"--> {__file__}:" in line for line in rest)


def test_libraries_that_are_gone():
    exported(qjit(lambda x: jnp.sin(x)), "gone", types="f64")
    Path("build/gone_library.so").unlink()
    body = """int main(void) { struct gone_results r; int code = gone(1.0, &r); puts(gone_error());
    return code == -1 ? 0 : 1; }"""
    status, output, _ = run_c("gone", body)
    assert status == 0
    assert "gone_library.so" in output


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no compiler of C++")
def test_from_cpp():
    exported(qjit(lambda x: x * 2), "twice", types="f64")
    body = """int main() { twice_results r; if (twice(1.5, &r)) return 1;
    printf("%g", r.result); twice_free(&r); }"""
    assert run_c("twice", body, compiler="c++", file="main.cc")[:2] == (0, "3")


def test_names_of_the_c_library_are_left_to_it():
    assert exported(qjit(lambda x: x), "exp", types="f64").name == "exp_.h"
    assert exported(qjit(lambda x: x), "2 + 2", types="f64").name == "x_2_2.h"


def test_one_of_several_programs(capsys):
    function = qjit(lambda x: x + 1)
    function.save("f.diastase", types=["f64", "i64"])
    with pytest.raises(ChooseProgramError, match=r"1: \(x: float64\[\]\)"):
        export_c(Path("f.diastase"), Path("build"))
    with pytest.raises(ChooseProgramError):
        export_c(Path("f.diastase"), Path("build"), number=3)
    arguments = ["export", "f.diastase", "--c", "build", "--program", "2", "--name", "more"]
    assert main(arguments) == 0
    assert capsys.readouterr().out == "build/more.h\n"
    assert "int64_t x," in Path("build/more.h").read_text()
    Path("file").write_text("")
    with pytest.raises(SaveError, match="File exists"):
        export_c(Path("f.diastase"), Path("file"), number=1)


@pytest.fixture
def example(monkeypatch, capsys):
    """The function of the example, exported as it says, and what a program prints that calls it."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    types = ["--types", "f64[layers,4]", "--output", "energy.diastase"]
    assert main(["compile", "energy:energy", *types]) == 0
    assert main(["export", "energy.diastase", "--c", "build", "--name", "energy"]) == 0
    capsys.readouterr()

    def energies(layers):
        run = subprocess.run(["./descent", layers], capture_output=True, text=True, check=True)
        return [float(line.split()[-1]) for line in run.stdout.splitlines()]

    return energies


def check_descent(energies):
    """Gradient descent goes down, for any number of layers, from where the function says."""
    for layers in ("1", "3"):
        values = energies(layers)
        assert len(values) == 6
        assert values[-1] < values[0] - 0.2
    angles = jnp.asarray([0.1 * (i % 7) for i in range(12)]).reshape(3, 4)
    value, _ = sys.modules["energy"].energy(angles)
    assert float(value) == pytest.approx(values[0], abs=1e-6)


def test_the_example(example):
    """As it says how it is built."""
    command = ["cc", "-Ibuild", "-o", "descent", "main.c", "-Lbuild", "-lenergy"]
    assert " ".join(command) in (EXAMPLE / "main.c").read_text()
    command[command.index("main.c")] = str(EXAMPLE / "main.c")
    subprocess.run([*command, *STRICT, "-Wl,-rpath,$ORIGIN/build"], check=True)
    check_descent(example)


@pytest.mark.skipif(shutil.which("rustc") is None, reason="there is no compiler of Rust")
def test_the_example_in_rust(example):
    """The same numbers, and an error of ours where there is one."""
    command = ["rustc", "-O", "-Lbuild", "-lenergy", "-C", "link-arg=-Wl,-rpath,$ORIGIN/build"]
    said = (EXAMPLE / "main.rs").read_text()
    assert "rustc -O -Lbuild -lenergy -C link-arg='-Wl,-rpath,$ORIGIN/build'" in said
    source = str(EXAMPLE / "main.rs")
    subprocess.run([*command, "-D", "warnings", "-o", "descent", source], check=True)
    check_descent(example)
    Path("build/energy_library.so").unlink()
    run = subprocess.run(["./descent"], capture_output=True, text=True)
    assert run.returncode == 1
    assert "energy_library.so" in run.stderr
