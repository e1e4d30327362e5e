"""Every operator and template, with what may be traced, plain, inverted and under controls.

A chunk of the tables is one compiled program, which keeps the whole short: one circuit for each
example applies all its variants, one after the other. Where a chunk differs from default.qubit,
each variant is compiled alone, so that the failure names it.
"""

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from pennylane.operation import Operator

from diastase import qjit
from frontend.quantum.operators.circuits import Variant, final_state, variants_of
from frontend.quantum.operators.examples import Table
from frontend.quantum.operators.left_out import LEFT_OUT
from frontend.quantum.operators.table import gates, layers, preparations, subroutines, symbolic

EXAMPLES: Table = {
    name: example
    for module in (gates, symbolic, preparations, layers, subroutines)
    for title, table in vars(module).items()
    if title.isupper() and not title.startswith("_")
    for name, example in table.items()
}

_CHUNK = 3
Variants = Mapping[str, Sequence[Variant]]


def _chunks() -> Iterator[Any]:
    for names in _batches(list(EXAMPLES)):
        yield pytest.param(names, id=names[0])


def _batches(names: list[str]) -> list[list[str]]:
    return [names[start : start + _CHUNK] for start in range(0, len(names), _CHUNK)]


@pytest.mark.sample(13)
@pytest.mark.parametrize("names", list(_chunks()))
def test_operators_have_the_results_of_default_qubit(names):
    chunk = {name: variants_of(EXAMPLES[name]) for name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PennyLane: some templates warn of their own arguments
        if not _failure(chunk):
            return
        single = ((name, variant) for name, variants in chunk.items() for variant in variants)
        failures = [
            f"{name}, {variant}: {failure}"
            for name, variant in single
            if (failure := _failure({name: [variant]}))
        ]
    assert failures, "fails only together"
    pytest.fail("\n\n".join(failures))


def _failure(chunk: Variants) -> str:
    """What differs from default.qubit, or the error that was raised; empty where all is well."""
    parameters = {name: EXAMPLES[name].parameters for name in chunk}
    expected = _states(chunk, parameters, 0)
    try:
        found = qjit(lambda *traced: _states(chunk, *traced))(parameters, np.int64(0))
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:600]}"
    differences = {
        name: np.abs(np.asarray(found[name]) - expected[name]).max() for name in expected
    }
    wrong = [f"{name} by {size:.1e}" for name, size in differences.items() if not size < 1e-9]
    return f"differ: {', '.join(wrong)}" if wrong else ""


def _states(chunk: Variants, parameters: Mapping[str, Any], offset: Any) -> dict[str, Any]:
    return {
        name: final_state(EXAMPLES[name], variants, parameters[name], offset)
        for name, variants in chunk.items()
    }


def _classes() -> Iterator[str]:
    """Every public class of operators in `pennylane.ops` and `pennylane.templates`."""
    for root in ("pennylane.ops", "pennylane.templates"):
        package = importlib.import_module(root)
        for info in pkgutil.walk_packages(package.__path__, f"{root}."):
            module = importlib.import_module(info.name)
            for name, value in vars(module).items():
                if inspect.isclass(value) and issubclass(value, Operator):
                    own = value.__module__ == info.name and value.__name__ == name
                    yield from [name] * (own and not name.startswith("_"))


def test_every_operator_has_an_example_or_a_reason():
    classes = set(_classes())
    shown = {name.split(":")[0] for name in EXAMPLES}
    assert not sorted(classes - shown - set(LEFT_OUT)), "neither shown nor left out"
    assert not sorted(shown & set(LEFT_OUT)), "shown and left out"
    assert not sorted((shown | set(LEFT_OUT)) - classes), "no operators of PennyLane"


def test_examples_are_many(record_property):
    """The counts that the documentation names."""
    variants = sum(len(variants_of(example)) for example in EXAMPLES.values())
    record_property("variants", variants)
    assert len(EXAMPLES) > 180
    assert variants > 1800
