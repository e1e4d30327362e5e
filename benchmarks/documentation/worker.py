"""Runs the programs of documents in this environment, and says what became of each block.

In: what `catalyst` is to mean (`catalyst` itself, or `diastase`), seconds for a block, and files.
Out: a line of JSON for each file, on the standard output: a record of each block, with its error or
what it printed and the numbers that it left in its names. Blocks of one file share their
names, as in one session; each file runs in a process of its own, forked after the imports.
"""

import contextlib
import importlib
import io
import json
import os
import select
import signal
import sys
import tempfile
import warnings
from pathlib import Path

from blocks import blocks_of

_PRELUDE = """
import math
from dataclasses import dataclass
from functools import partial
import jax
import jax.numpy as jnp
import numpy as np
import pennylane as qml
import pennylane as qp
import catalyst
from catalyst import *
from catalyst.pipelines import *
"""
"""What pages take for granted; `passes` and `debug` come with the package."""


def prelude(package):
    """The names that a page begins with."""
    if package != "catalyst":
        importlib.import_module(f"{package}.as_catalyst")
    names = {"__name__": "__main__"}
    exec(_PRELUDE, names)
    return names


def run_page(text, names, report):
    """Run the blocks of a page in order; `report` is given the record of each."""
    for block in blocks_of(text):
        before = dict(names)
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            error = _run(block, names, printed)
        report(
            {
                "line": block.line,
                "source": "\n".join(source for source, _ in block.statements),
                "error": error,
                "printed": printed.getvalue(),
                "shown": block.shown,
                "values": _values(names, before),
                "warnings": sorted({type(w.message).__name__ for w in warned}),
            }
        )


def _run(block, names, printed):
    """Run a block; the error that stopped it, or None."""
    for number, (source, mode) in enumerate(block.statements):
        file = Path(f"line_{block.line}_{number}.py").absolute()  # autograph reads sources
        file.write_text(source)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                exec(compile(source, file, mode), names)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a page may exit, too
            return f"{type(error).__name__}: {error}"
    return None


def _values(names, before):
    """Numbers and arrays of numbers that a block has bound, in any pytree, as rounded strings."""
    import jax
    import numpy as np

    found = {}
    for name, value in names.items():
        if name.startswith("_") or value is before.get(name) or callable(value):
            continue
        for path, leaf in jax.tree_util.tree_leaves_with_path(value):
            try:
                array = np.asarray(leaf)
            except Exception:
                continue
            if array.dtype.kind in "biufc" and array.size <= 4096:
                key = name + jax.tree_util.keystr(path)
                found[key] = np.array2string(array, precision=5, suppress_small=True)
    return found


def in_process(text, names, seconds):
    """Records of a page, from a fork that is killed when its time is over or that died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.chdir(tempfile.mkdtemp())
        with os.fdopen(writer, "w") as out, open(os.devnull, "w") as quiet:
            os.dup2(quiet.fileno(), 1)
            os.dup2(quiet.fileno(), 2)
            run_page(text, names, lambda record: print(json.dumps(record), file=out, flush=True))
            out.flush()
            os._exit(0)
    os.close(writer)
    return _received(reader, child, len(blocks_of(text)), text, seconds)


def _received(reader, child, expected, text, seconds):
    received = b""
    while select.select([reader], [], [], seconds)[0] and (more := os.read(reader, 1 << 20)):
        received += more
    os.close(reader)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    records = [json.loads(line) for line in received.decode().splitlines()]
    lost = f"Lost: no answer, or the process ended (status {status})"
    for block in blocks_of(text)[len(records) : expected]:
        source = "\n".join(source for source, _ in block.statements)
        record = {"line": block.line, "source": source, "error": lost}
        records.append(record | {"printed": "", "shown": "", "values": {}, "warnings": []})
    return records


def main(package, seconds, *files):
    names = prelude(package)
    for file in files:
        text = Path(file).read_text()
        records = in_process(text, names, float(seconds))
        print(json.dumps({"page": Path(file).name, "blocks": records}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
