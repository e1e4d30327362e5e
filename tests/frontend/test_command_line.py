"""`python -m diastase` and `python -m diastase_runtime`: files made, looked into and run."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import diastase_runtime
from diastase.__main__ import main
from diastase_runtime.saved import command_line

MODULE = """
import jax.numpy as jnp
from diastase import qjit

def model(p, k):
    return {"y": p["w"] * k, "s": (jnp.sum(p["w"]), None)}

@qjit
def double(x: float):
    return x * 2

@qjit(static_argnames="n")
def power(x, *, n):
    return x**n

power(2.0, n=3)

def constant():
    return jnp.arange(3)

number = 3
"""


@pytest.fixture
def module(request, monkeypatch):
    """A module of the user's, in the working directory, of a name that no other test has."""
    name = f"module_of_{request.node.name.partition('[')[0]}"
    Path(f"{name}.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


def told(capsys, *arguments, by=main):
    """The status, and what was printed."""
    status = by([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_from_a_function_to_its_results(module, capsys):
    status, text, _ = told(
        capsys, "compile", f"{module}:double", "--output", "f.diastase", "--sources"
    )
    assert status == 0
    assert "double(x: float64[]) -> float64[]" in text
    for by in (main, command_line.main):
        assert told(capsys, "inspect", "f.diastase", by=by) == (0, text, "")
        np.savez("arguments.npz", x=2.5)
        assert told(capsys, "run", "f.diastase", "arguments.npz", by=by)[1] == "result: array(5.)\n"
    assert told(capsys, "run", "f.diastase", "arguments.npz", "-o", "results.npz") == (0, "", "")
    assert np.load("results.npz")["result"] == 5.0


def test_pytrees_and_open_sizes(module, capsys):
    save = np.savez
    assert told(capsys, "compile", f"{module}:power")[0] == 0
    assert Path("power.diastase").exists()
    save("arguments.npz", x=2.0)
    assert told(capsys, "run", "power.diastase", "arguments.npz")[1] == "result: array(8.)\n"
    assert told(capsys, "compile", f"{module}:constant", "--types", "")[0] == 0
    assert told(capsys, "run", "constant.diastase")[1] == "result: array([0, 1, 2])\n"
    function = sys.modules[module].qjit(sys.modules[module].model)
    function.save("f.diastase", types=[({"w": "f64[n]"}, "f64"), ({"w": "i64[n]"}, "i64")])
    save("arguments.npz", **{"p['w']": np.arange(3), "k": 2})
    told(capsys, "run", "f.diastase", "arguments.npz", "-o", "results.npz")
    results = dict(np.load("results.npz"))
    assert {name: value.tolist() for name, value in results.items()} == {
        "result['y']": [0, 2, 4], "result['s'][0]": 3,
    }  # fmt: skip
    assert results["result['y']"].dtype == np.int64
    assert told(capsys, "inspect", "f.diastase")[1].count("model(p['w']: ") == 2


@pytest.mark.parametrize(
    ("stage", "text"),
    [(None, "stablehlo.multiply"), ("jaxpr", "lambda"), ("llvm_ir", "define"), ("capture", "func")],
)
def test_stages(module, stage, text, capsys):
    options = [] if stage is None else ["--stage", stage]
    assert text in told(capsys, "inspect", f"{module}:double", *options)[1]
    types = ["--types", "f32[n]"]
    assert text in told(capsys, "inspect", f"{module}:double", *types, *options)[1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["compile", "{module}:nothing"], "No such function: "),
        (["compile", "{module}"], "No such function: "),
        (["compile", "no_such_module:f"], "No module named 'no_such_module'"),
        (["compile", "{module}:number"], "Nothing to compile"),
        (["compile", "{module}:model"], "Nothing to save"),
        (["compile", "{module}:double", "--types", "f99"], "Invalid types"),
        (["compile", "{module}:double", "--target-cpu", "z80"], "Invalid target processor"),
        (["inspect", "{module}.py"], "Not a saved function"),
        (["inspect", "none.diastase"], "No such file"),
        (["inspect", "{module}:double", "--stage", "nine"], "Invalid option"),
        (["run", "{module}.py"], "Not a saved function"),
        (["run", "f.diastase"], "Other names"),
        (["run", "f.diastase", "{module}.py"], "is no archive of arrays"),
        (["run", "f.diastase", "single.npy"], "is no archive of arrays"),
        (["run", "f.diastase", "wrong.npz"], "No program for these arguments"),
        (["run", "f.diastase", "right.npz", "-o", "none/results.npz"], "No such file"),
    ],
)
@pytest.mark.sample(6)
def test_what_goes_wrong(module, arguments, error, capsys):
    told(capsys, "compile", f"{module}:double", "-o", "f.diastase")
    np.save("single.npy", np.ones(3))
    np.savez("wrong.npz", x="text")
    np.savez("right.npz", x=1.0)
    status, text, problem = told(capsys, *[word.format(module=module) for word in arguments])
    assert (status, text) == (1, "")
    assert error in problem


def test_pickled_arrays_are_not_read(module, capsys):
    told(capsys, "compile", f"{module}:double", "-o", "f.diastase")
    np.savez("arguments.npz", x=np.array([print], dtype=object))
    assert told(capsys, "run", "f.diastase", "arguments.npz")[0] == 1


@pytest.mark.thorough
def test_as_processes(module):
    """The second without any compiler (`runtime/saved/test_alone.py`)."""
    command = [sys.executable, "-m", "diastase", "compile", f"{module}:double", "-o", "f.diastase"]
    subprocess.run(command, check=True, capture_output=True)
    np.savez("arguments.npz", x=3.0)
    command = [sys.executable, "-m", "diastase_runtime", "run", "f.diastase", "arguments.npz"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert run.stdout == "result: array(6.)\n"
    assert diastase_runtime.load("f.diastase")(3.0) == 6.0
