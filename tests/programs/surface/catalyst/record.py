"""Write `recorded.json`: what Catalyst has, and which exceptions its refusals are.

Run as a program, with a Python that has `pennylane-catalyst`; needs nothing of ours:

    PYTHONPATH=tests /path/to/catalyst/bin/python tests/programs/surface/catalyst/record.py
"""

import importlib
import inspect
import json
import warnings
from pathlib import Path

import catalyst

from programs.surface.catalyst.failures import PROGRAMS

OWN = ("CompileError", "DifferentiableCompileError", "AutoGraphError")
MODULES = ("catalyst", "catalyst.autograph", "catalyst.debug", "catalyst.utils.exceptions")
SEEN = {"catalyst.utils.exceptions": lambda module: [n for n in vars(module) if n[0] != "_"]}


def names(module: str) -> dict[str, str | None]:
    """The public names of a module, with their signatures where they have any."""
    there = importlib.import_module(module)
    public = getattr(there, "__all__", None) or SEEN[module](there)
    return {name: signature(getattr(there, name)) for name in sorted(set(public))}


def signature(value: object) -> str | None:
    """Parameters without annotations, which name Catalyst's own types."""
    if not callable(value) or (isinstance(value, type) and issubclass(value, Exception)):
        return None
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty, default=default(parameter))
        for parameter in inspect.signature(value).parameters.values()
    ]
    return str(inspect.Signature(parameters))


def default(parameter: inspect.Parameter) -> object:
    """The default, but for a file: where it lies says nothing."""
    return ... if hasattr(parameter.default, "write") else parameter.default


def failure(program) -> list[str]:
    """Catalyst's own classes that catch what a program raises."""
    try:
        program(catalyst)
    except Exception as error:
        return [base.__name__ for base in type(error).__mro__ if base.__name__ in OWN]
    return []


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    recorded = {
        "version": catalyst.__version__,
        "names": {module: names(module) for module in MODULES},
        "failures": {name: failure(program) for name, program in PROGRAMS.items()},
    }
    Path(__file__).with_name("recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")
