"""The table of JAX's private names: all of them are used, all are there with this version."""

import re
from pathlib import Path

import pytest

from diastase.tracing.trace import trace
from diastase_mlir import jax_compat
from diastase_mlir.jax_compat import JAX, private

SOURCES = "\n".join(file.read_text() for file in Path(jax_compat.__file__).parent.rglob("*.py"))
EXPORTED = dict(re.findall(r'(\w+) = JAX\.module\("([\w.]+)"\)', SOURCES))
NAMES = sorted({place for need in JAX.needs for place in need.places()})


def test_this_version_has_all_of_it():
    assert trace  # which has applied the overlays
    assert JAX.disabled == {}


@pytest.mark.parametrize("place", NAMES)
def test_a_declared_name_is_used(place):
    module, _, name = place.partition(":")
    used = {f"{export}.{name}" for export, path in EXPORTED.items() if path == module}
    by_itself = re.search(rf'JAX\.(now|or_else)\(\s*"{re.escape(place)}"', SOURCES)
    assert by_itself or any(text in SOURCES for text in used)


@pytest.mark.parametrize("point", JAX.patches)
def test_a_declared_patch_is_made(point):
    applied = point in jax_compat.OVERLAID or f'patch("{point}"' in SOURCES
    assert applied or point.startswith("ordering_")


def test_modules_hold_declared_names_only():
    with pytest.raises(AttributeError):
        _ = private.core.Jaxpr
    with pytest.raises(AssertionError, match=r"no private name of jax._src.nothing is declared"):
        JAX.module("jax._src.nothing")
