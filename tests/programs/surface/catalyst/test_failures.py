"""`except catalyst.CompileError` catches here what it catches there."""

import json
from pathlib import Path

import pytest

import diastase
from diastase import DiastaseError
from programs.surface.catalyst.failures import PROGRAMS

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_catalysts_exception_catches_it(name):
    with pytest.raises(DiastaseError) as caught:
        PROGRAMS[name](diastase)
    theirs = RECORDED["failures"][name]
    assert theirs, "no exception of Catalyst's own, so nothing to compare"
    assert isinstance(caught.value, tuple(getattr(diastase, kind) for kind in theirs[:1]))


def test_the_exceptions_are_where_catalyst_has_them():
    exceptions = diastase.utils.exceptions
    assert exceptions.CompileError is diastase.CompileError
    assert issubclass(exceptions.DifferentiableCompileError, exceptions.CompileError)
