import importlib

import diastase


def program():
    with diastase.acting_as_catalyst():
        importlib.import_module("catalyst.compiler")
