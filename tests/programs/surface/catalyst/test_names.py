"""Every public name of Catalyst's is here, under the same name and with its signature."""

import importlib
import importlib.metadata
import inspect
import json
from pathlib import Path

import pytest

import diastase

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())["names"]

DEFAULTS = {"allow_array_resizing", "logfile"}
"""Parameters with another default that means the same: False and None, a file and None."""

COMING = {"accelerate", "debug_assert", "print_memref", "pure_callback"}
"""Being built; to be empty in the end."""

NAMES = [(module, name) for module, names in RECORDED.items() for name in names]


def _signature(recorded: str) -> inspect.Signature:
    return inspect.signature(eval(f"lambda {recorded[1:-1]}: None"))


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_catalysts_names(module, name):
    """What can be passed there can be passed here, in the same place or by the same name."""
    try:
        value = getattr(importlib.import_module(module.replace("catalyst", "diastase", 1)), name)
    except (AttributeError, ImportError):
        if name not in COMING:
            raise
        pytest.skip("not built yet")
    recorded = RECORDED[module][name]
    if recorded is None:
        return
    theirs, parameters = _signature(recorded), inspect.signature(value).parameters
    positional = [p.name for p in theirs.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if name != "CompileOptions":  # by keywords only: nobody counts to twenty
        assert list(parameters)[: len(positional)] == positional
    assert theirs.parameters.keys() <= parameters.keys()
    for parameter in theirs.parameters.values():
        if parameter.name not in DEFAULTS:
            assert parameters[parameter.name].default == parameter.default, parameter.name


def test_dir_shows_the_public_names_only():
    assert dir(diastase) == sorted(diastase.__all__)
    assert not [name for name in dir(diastase) if name.startswith("_")]
    for name in diastase.__all__:
        assert getattr(diastase, name) is not None


def test_what_is_not_there_is_named():
    with pytest.raises(AttributeError, match="diastase has no Qjit\n  help: did you mean qjit"):
        _ = diastase.Qjit
    with pytest.raises(
        AttributeError, match=r"diastase.passes has no merge_rotation\n.*mean merge"
    ):
        _ = diastase.passes.merge_rotation
    with pytest.raises(AttributeError, match=r"exceptions has no Error\n.*dir\("):
        _ = diastase.utils.exceptions.Error
    with pytest.raises(AttributeError, match=r"debug has no prin\n.*did you mean print"):
        _ = diastase.debug.prin
    with pytest.raises(ImportError, match="cannot import name 'Qjit'"):
        exec("from diastase import Qjit")
    assert not hasattr(diastase, "__wrapped__")


def test_the_version_is_the_package_s():
    assert diastase.__version__ == importlib.metadata.version("diastase")
