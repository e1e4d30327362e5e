"""What a docstring of a public name must say, and that its examples print what they say."""

import runpy
from pathlib import Path

import diastase

_MADE = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "public_names.py"))
NAMES = {str(public): public for public in _MADE["public_names"]()}


def test_public_names_are_those_that_modules_list():
    """One by one they are what a user gets by that name; whatever `diastase` lists is there."""
    assert {"diastase.qjit", "diastase.QJIT.save", "diastase_runtime.load"} <= NAMES.keys()
    listed = {f"diastase.{name}" for name in diastase.__all__}
    assert listed <= NAMES.keys()
    modules = {str(public) for public in NAMES.values() if public.kind == "module"}
    assert modules <= {*_MADE["MODULES"]}


def test_what_is_between_layers_is_there():
    """A name that has gone is no longer left out of the reference."""
    for place, names in _MADE["BETWEEN_LAYERS"].items():
        owner = NAMES[place].value if place in NAMES else _MADE["_module"](place)
        fields = getattr(owner, "__dataclass_fields__", {})
        assert [name for name in names if not hasattr(owner, name) and name not in fields] == []
