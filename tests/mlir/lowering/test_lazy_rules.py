"""Rules that are imported when their primitive is lowered: the table says where each of them is."""

import importlib

from diastase_mlir.lowering.core import registry
from diastase_mlir.lowering.lower_equation import LAZY_RULES


def test_the_table_names_the_rules_of_each_module():
    for module, names in LAZY_RULES.items():
        path = importlib.import_module(f"diastase_mlir.lowering.{module}").__name__
        entries = {name: registry.rule_of(name) for name in registry.lowered_primitives()}
        own = {name for name, entry in entries.items() if entry and entry.rule.__module__ == path}
        assert own == set(names.split()), module


def test_no_name_of_the_table_is_without_a_rule():
    assert all(registry.rule_of(name) for name in registry.lowered_primitives())
