"""Passes asked for as objects, and plugins: Python files that register passes.

A plugin is the path of a file or of a package's folder, or the name of an entry point of the group
`diastase.passes_resolution` (a module). It is run once, and registers what it has by
`diastase.passes.register_pass`.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from diastase.quantum.passes import table
from diastase.quantum.passes.errors import PassPluginError
from diastase_mlir import user_span

GROUP = "diastase.passes_resolution"
_LIBRARIES = {".so", ".dylib", ".dll", *EXTENSION_SUFFIXES}


class Pass:
    """A pass with its options.

    `diastase.passes.pipeline` and `qjit(circuit_transform_pipeline=…)` take lists of them.

    Args:
        name: of a pass of ours, or one given to `register_pass`.
        *options: names of options that are True.
        **valued_options: other options, numbers, booleans and strings.

    Raises:
        UnknownPassError: a `ValueError`, for a pass that there is not.
        PassOptionError: a `TypeError`, for an option that the pass does not have.
        OptionValueError: a `ValueError`, for a value that an option does not take.

    Example:
        >>> from diastase.passes import Pass, pipeline
        >>> Pass("merge_rotations", loops=False)
        Pass('merge_rotations', loops=False)
        >>> simplified = pipeline([Pass("cancel_inverses"), Pass("merge_rotations")])

    """

    def __init__(self, name: str, *options: str, **valued_options: Any) -> None:
        self.name, self.options, self.valued_options = name, options, valued_options
        self.call = table.pass_call(name, {**dict.fromkeys(options, True), **valued_options})

    def __repr__(self) -> str:
        """Show it as it is written in Python."""
        options = [
            *map(repr, self.options),
            *(f"{k}={v!r}" for k, v in self.valued_options.items()),
        ]
        return f"{type(self).__name__}({', '.join([repr(self.name), *options])})"


class PassPlugin(Pass):
    """A pass that a plugin registers, with its options; taken where a `Pass` is.

    Args:
        path: of a Python file, or of a package's folder, or the name of an entry point. It is run
            once in a process.
        name: of the pass, which it gives to `register_pass`.
        *options: names of options that are True.
        **valued_options: other options, numbers, booleans and strings.

    Raises:
        PassPluginError: a `ValueError`, for what is no plugin, a library of MLIR's among it.
        UnknownPassError: a `ValueError`, for a pass that it does not register.

    Example:
        >>> from pathlib import Path
        >>> from diastase.passes import PassPlugin
        >>> _ = Path("plugin.py").write_text('''
        ... from diastase.passes import register_pass
        ...
        ... @register_pass("little")
        ... def little(circuit, *, steps=1): ...
        ... ''')
        >>> PassPlugin("plugin.py", "little", steps=2)
        PassPlugin('little', steps=2)

    """

    def __init__(self, path: str | Path, name: str, *options: str, **valued_options: Any) -> None:
        self.path = path
        load_plugin(path)
        super().__init__(name, *options, **valued_options)


def read_pipeline(pipeline: Any) -> "tuple[table.PassCall, ...]":
    """Passes in order: a dictionary from names to options, or a list of `Pass`."""
    if isinstance(pipeline, Mapping) or not isinstance(pipeline, Sequence):
        return table.pass_calls(pipeline)
    if all(isinstance(each, Pass) for each in pipeline):
        return tuple(each.call for each in pipeline)
    return table.pass_calls(pipeline)  # which says what is wrong with it


def load_plugin(given: Any) -> None:
    """Run a plugin, unless it has been."""
    if not isinstance(given, str | Path):
        raise _refusal(repr(given), "a plugin is a path, or the name of an entry point")
    (point,) = list(entry_points(group=GROUP, name=str(given)))[:1] or (None,)
    if point is not None:
        point.load()
        return
    path = Path(given)
    if path.suffix in _LIBRARIES:
        reason = "a library of MLIR's has passes for another compiler: write a pass in Python"
        raise _refusal(str(given), reason)
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise _refusal(str(given), f"there is no such file, and no entry point of {GROUP}")
    _run(file.resolve())


@cache
def _run(file: Path) -> None:
    """Run a file as a module of its own, which may have modules beside it if it is a package."""
    is_package = file.name == "__init__.py"
    name = f"diastase_plugin_{file.parent.name if is_package else file.stem}_{abs(hash(file)):x}"
    folders = [str(file.parent)] if is_package else None
    spec = spec_from_file_location(name, file, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise _refusal(str(file), "it is no Python file")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


def _refusal(path: str, reason: str) -> PassPluginError:
    return PassPluginError(path=path, reason=reason, span=user_span())
