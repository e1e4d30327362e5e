"""Docstrings of an installed package as documents, one file for each object that has a program.

Run by the interpreter of the environment that has the package:
`python docstrings.py PACKAGE FOLDER [PATTERN]`; with a pattern, only docstrings that have it. Only
documentation is read, as `help()` shows it.
"""

import importlib
import inspect
import pkgutil
import re
import sys
import warnings
from pathlib import Path


def documents(package, pattern=""):
    """Names and docstrings of the objects of a package that have programs."""
    for module in _modules(package):
        for name, text in _documented(module):
            if isinstance(text, str) and _has_program(text) and re.search(pattern, text):
                yield name, inspect.cleandoc(text)


def _has_program(text):
    return ">>> " in text or "code-block::" in text or "```python" in text


def _modules(package):
    top = importlib.import_module(package)
    yield top
    for found in pkgutil.walk_packages(top.__path__, f"{package}.", onerror=lambda name: None):
        try:
            yield importlib.import_module(found.name)
        except Exception as error:  # what needs other packages cannot be imported everywhere
            print(f"{found.name}: {error}", file=sys.stderr)


def _documented(module):
    yield module.__name__, module.__doc__
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__ or not callable(value):
            continue
        yield f"{module.__name__}.{name}", value.__doc__
        if inspect.isclass(value):
            for member, inner in vars(value).items():
                if callable(inner) or isinstance(inner, (property, classmethod, staticmethod)):
                    yield f"{module.__name__}.{name}.{member}", inner.__doc__


def main(package, folder, pattern=""):
    warnings.simplefilter("ignore")
    seen = set()
    for name, text in documents(package, pattern):
        if text not in seen:
            seen.add(text)
            (Path(folder) / f"{name}.rst").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
