"""`docs/security.md`: its tests exist, and what it says of our sources is so."""

import ast
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
SOURCES = {
    str(file.relative_to(ROOT)): ast.parse(file.read_text())
    for layer in ("frontend", "mlir", "runtime")
    for file in (ROOT / layer).rglob("*.py")
}
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


@cache
def named_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_row_names_tests_and_they_exist():
    rows = [
        line for line in PAGE.splitlines() if line.startswith("| ") and line != "| what | tests |"
    ]
    assert len(rows) > 25
    assert [row for row in rows if not NAMED.search(row)] == []
    missing = {
        f"{file}::{name}" for file, name in NAMED.findall(PAGE) if name not in named_in(file)
    }
    assert missing == set()


def test_each_test_has_a_row():
    files = [f"security/{file.name}" for file in Path(__file__).parent.glob("test_*.py")]
    tests = {name for file in files for name in named_in(file) if name.startswith("test_")}
    assert tests - {name for _, name in NAMED.findall(PAGE)} == {
        "test_each_row_names_tests_and_they_exist",
        "test_each_test_has_a_row",
    }


def files_that_name(*names: str) -> set[str]:
    """Files in which one of these is a name, an attribute, or imported."""
    found: set[str] = set()
    for file, tree in SOURCES.items():
        for node in ast.walk(tree):
            own = getattr(node, "id", None) or getattr(node, "attr", None)
            if isinstance(node, ast.Import | ast.ImportFrom):
                imported = [alias.name for alias in node.names]
                own = next(filter(names.__contains__, imported), None) or getattr(
                    node, "module", ""
                )
            if own in names:
                found.add(file)
    return found


def test_processes_are_started_in_these_files_only():
    started = files_that_name("subprocess", "Popen", "multiprocessing", "posix_spawn", "execv")
    assert started == {
        "frontend/diastase/debugging/c_programs.py",
        "mlir/diastase_mlir/driver/other_processors.py",
        "runtime/diastase_engine/libraries/background_build.py",
        "runtime/diastase_toolchain/linker.py",
    }
    assert files_that_name("system", "popen", "pty", "execve", "execvp", "spawnv") == set()


def test_libraries_are_loaded_in_these_files_only():
    """`libraries` those of programs, `gpu` CUDA's driver; the others what the process has."""
    assert files_that_name("CDLL", "PyDLL", "dlopen", "LoadLibrary") == {
        "mlir/diastase_mlir/bindings/__init__.py",
        "runtime/diastase_runtime/gpu.py",
        "runtime/diastase_runtime/libraries.py",
        "runtime/diastase_runtime/loader.py",
        "runtime/diastase_runtime/arrays/memref.py",
        "runtime/diastase_runtime/python.py",
        "runtime/diastase_toolchain/background.py",
        "runtime/diastase_toolchain/checked/switch.py",
        "runtime/diastase_toolchain/linker.py",
    }


def test_text_becomes_code_in_these_files_only():
    """AutoGraph compiles syntax trees, the explorer a text to compare it; plugins are run."""
    made = {
        file
        for file, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("compile", "eval", "exec", "__import__")
    }
    assert made == {
        "frontend/diastase/autograph/syntax/conversion.py",
        "frontend/diastase/inspection/explorer/sources.py",
    }
    assert files_that_name("exec_module", "run_path", "runpy", "SourceFileLoader") == {
        "frontend/diastase/quantum/passes/plugins.py"
    }


def test_variables_that_are_read():
    read: set[str] = set()
    for tree in SOURCES.values():
        constants = {
            ast.unparse(node.targets[0]): node.value.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "os.environ.get",
                "os.getenv",
            ):
                name = node.args[0]
                read.add(
                    name.value if isinstance(name, ast.Constant) else constants[ast.unparse(name)]
                )
    assert len(read) == 11
    assert {name for name in read if f"`{name}`" not in PAGE} == set()


def test_there_is_no_reader_of_circuits():
    """They are written (`f.qasm`, `f.qir`), and read nowhere."""
    used = {
        name: file
        for file, tree in SOURCES.items()
        for node in ast.walk(tree)
        for name in (
            *([alias.name for alias in node.names] if isinstance(node, ast.Import) else []),
            *([node.module or ""] if isinstance(node, ast.ImportFrom) else []),
            *([node.attr] if isinstance(node, ast.Attribute) else []),
        )
    }
    readers = ("openqasm3", "from_qasm", "pyqir")
    assert {n: f for n, f in used.items() if n.startswith(readers)} == {}
    assert "openqasm" in " ".join(used)


REFUSED = {
    "import pickle": "TID251",
    "import marshal": "TID251",
    "from shelve import open as _": "TID251",
    "import dill": "TID251",
    "import cloudpickle": "TID251",
    "eval(x)": "S307",
    "exec(x)": "S102",
    "os.system(x)": "S605",
    "os.popen(x)": "S605",
    "subprocess.run(x, shell=True)": "S602",
    "subprocess.run([x])": "S603",
    "tempfile.mktemp()": "S306",
    "yaml.load(x)": "S506",
}


def test_the_linter_refuses():
    """In the product; each line of a file that has nothing else to be refused."""
    ruff = shutil.which("ruff", path=Path(sys.executable).parent) or shutil.which("ruff")
    if ruff is None:
        pytest.skip("ruff is not installed")
    text = "import os, subprocess, tempfile, yaml\n" + "\n".join(REFUSED) + "\n"
    command = [ruff, "check", "--output-format", "concise", "--stdin-filename"]
    checked = subprocess.run(
        [*command, str(ROOT / "runtime" / "diastase_runtime" / "new.py"), "-"],
        input=text, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    found = set(re.findall(r":(\d+):\d+: (\w+)", checked.stdout))
    wanted = {(str(line), code) for line, code in enumerate(REFUSED.values(), 2)}
    assert wanted - found == set(), checked.stdout + checked.stderr
