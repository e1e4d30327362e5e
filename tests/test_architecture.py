"""Rules of the house about who imports what; `make imports` checks the layers themselves."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import diastase
from diastase import autodiff
from diastase.primitives.define import PRIMITIVES, Role
from diastase_mlir.jax_compat import CALLS
from diastase_mlir.lowering.core.registry import lowered_primitives

ROOT = Path(__file__).parents[1]
LAYERS = {"frontend": "diastase", "mlir": "diastase_mlir", "runtime": "diastase_runtime"}
SOURCES = {
    str(file.relative_to(ROOT)): file for layer in LAYERS for file in (ROOT / layer).rglob("*.py")
}

# What only these may import, besides the standard library and the layers below.
NEIGHBOURS = {
    "jax._src": [],  # by name only: `diastase_mlir/jax_compat/private.py`
    # bindings: for the type checker only, which finds no stubs in torch_mlir.
    "jaxlib": ["mlir/diastase_mlir/bindings/__init__.py"],
    "torch_mlir": ["mlir/diastase_mlir/bindings/__init__.py"],
    "pennylane": ["frontend/"],
    "jax": ["frontend/", "mlir/"],
    "llvmlite": ["mlir/", "runtime/diastase_engine/", "runtime/diastase_toolchain/"],
}
RUNTIME_MAY_IMPORT = {
    "diastase_runtime": {"numpy", "ml_dtypes", "diastase_runtime"},
    "diastase_toolchain": {"llvmlite", "diastase_runtime", "diastase_toolchain"},
    "diastase_engine": {"llvmlite", "diastase_runtime", "diastase_toolchain", "diastase_engine"},
}


def imported_modules(source: Path) -> Iterator[str]:
    """Every module that a file imports, by any name; `jax._src` as an attribute counts."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, f"a relative import in {source}"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node) if node.attr == "_src" else ""


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_are_no_packages(layer):
    """`mlir/__init__.py` would hide the namespace package `mlir` of MLIR's own bindings."""
    assert not (ROOT / layer / "__init__.py").exists()
    assert (ROOT / layer / LAYERS[layer] / "__init__.py").exists()


@pytest.mark.sample(2)
@pytest.mark.parametrize("neighbour", NEIGHBOURS)
def test_a_dangerous_neighbour_has_one_door(neighbour):
    allowed = tuple(NEIGHBOURS[neighbour])
    importers = [
        name
        for name, source in SOURCES.items()
        if any(is_within(module, neighbour) for module in imported_modules(source))
    ]
    assert bool(importers) == bool(allowed), "is the rule still needed?"
    assert [name for name in importers if not name.startswith(allowed)] == []


@pytest.mark.parametrize("package", RUNTIME_MAY_IMPORT)
def test_the_runtime_needs_little(package):
    """The loader numpy alone; the engine LLVM, but neither JAX nor MLIR nor PennyLane."""
    allowed = sys.stdlib_module_names | RUNTIME_MAY_IMPORT[package]
    outside = {
        (name, module)
        for name, source in SOURCES.items()
        if name.startswith(f"runtime/{package}/")
        for module in imported_modules(source)
        if module and module.partition(".")[0] not in allowed
    }
    assert outside == set()


def test_the_runtime_loads_no_compiler():
    """Also not through what it imports."""
    program = "import sys, diastase_runtime; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {module.partition(".")[0] for module in run.stdout.split()}
    assert not loaded & {"jax", "jaxlib", "torch_mlir", "pennylane", "llvmlite", "scipy"}


@cache
def import_all_of_diastase():
    with diastase.acting_as_catalyst():  # so that the module that begins to act so ends here
        for module in pkgutil.walk_packages(diastase.__path__, "diastase."):
            importlib.import_module(module.name)


def test_every_primitive_of_ours_has_a_lowering_rule():
    import_all_of_diastase()
    importlib.import_module(
        "diastase_mlir.lowering.lower_equation"
    )  # imported when a program is lowered
    assert PRIMITIVES
    replaced = {name for name, record in PRIMITIVES.items() if Role.EXPANDED in record.roles}
    reaching = PRIMITIVES.keys() - replaced
    assert reaching - lowered_primitives() - CALLS.keys() == set()
    assert not replaced & lowered_primitives()
    assert all(name == record.primitive.name for name, record in PRIMITIVES.items())


def test_every_primitive_of_ours_has_a_role_and_every_role_a_primitive():
    import_all_of_diastase()
    assert all(record.roles for record in PRIMITIVES.values())
    assert set().union(*(record.roles for record in PRIMITIVES.values())) == set(Role)


def test_every_rule_that_a_primitive_promises_is_there():
    import_all_of_diastase()
    promised = {
        (name, transformation)
        for name, record in PRIMITIVES.items()
        for transformation in record.provided_rules
    }
    assert promised - autodiff.provided_rules().keys() == set()


def lists_of_primitives(tree: ast.AST) -> Iterator[str]:
    """Collections of names of two or more primitives of ours, but for types and tables of rules."""
    exempt = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) == "dict.fromkeys")
        for part in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.Tuple | ast.List) and id(node) not in exempt:
            named = [PRIMITIVES.get(part.value) for part in node.elts if is_text(part)]
            if sum(record is not None for record in named) > 1:
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and is_text(node):
            words = node.value.split()
            if len(words) > 1 and all(word in PRIMITIVES for word in words):
                yield ast.unparse(node)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            (others,) = node.comparators
            objects = {f"{name}_p" for name in PRIMITIVES}
            if isinstance(others, ast.Set | ast.Tuple | ast.List):
                found = [ast.unparse(part).rpartition(".")[2] for part in others.elts]
                if len(objects.intersection(found)) > 1:
                    yield ast.unparse(node)


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.parametrize(
    ("source", "is_list"),
    [
        ('X = frozenset({"gate", "unitary"})', True),
        ('equation.primitive.name in ("for_loop", "scan", "switch")', True),
        ('X = "for_loop while_loop switch".split()', True),
        ("equation.primitive in (gate_p, quantum.measure_p)", True),
        ('RULES = {"gate": gate, "unitary": unitary}', False),
        ('RULES = {("gate", "jvp"): gate, **dict.fromkeys(("probs", "state"), measured)}', False),
        ('Kind = Literal["unitary", "diagonal"]', False),
    ],
)
def test_lists_of_primitives_are_found(source, is_list):
    import_all_of_diastase()
    assert bool(list(lists_of_primitives(ast.parse(source)))) == is_list


def test_no_module_lists_primitives_that_have_a_role_in_common():
    """What a primitive is stands in its record: `has_role`."""
    import_all_of_diastase()
    public_names = {"frontend/diastase/__init__.py", "frontend/diastase/api/pennylane_entry.py"}
    found = {
        path: lists
        for path, file in SOURCES.items()
        if path.startswith("frontend/") and path not in public_names
        if (lists := list(lists_of_primitives(ast.parse(file.read_text()))))
    }
    assert found == {}


def test_lazy_imports_are_those_of_the_page():
    """Each saves start-up time that was measured."""
    found = {
        name
        for source in SOURCES.values()
        for name in re.findall(r'^\s+\w+ = LazyModule\("([\w.]+)"\)', source.read_text(), re.M)
    }
    page = (ROOT / "docs" / "lazy-imports.md").read_text()
    assert set(re.findall(r"^\| `([\w.]+)` \|", page, re.M)) == found


def test_no_other_import_is_inside_of_a_function():
    """Which would hide a circle: ruff's rule has no exceptions in the product."""
    silenced = [name for name, source in SOURCES.items() if "noqa: PLC0415" in source.read_text()]
    assert not silenced
