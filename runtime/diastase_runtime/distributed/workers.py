"""What runs on workers: a function, loaded once in a process, on a chunk of elements.

Tasks are functions of this module, which Dask names and does not copy; what they take and give is
bytes, numbers, NumPy's arrays and pytrees of them. The file of the function is the result of a task
of its own (`shipped`): each worker fetches it once, from the client or from another worker, and
it is made again where the worker that had it is gone.
"""

import io
import os
import platform
import threading
from collections import OrderedDict
from pathlib import Path

from diastase_runtime.arrays.memref import keep_freed_memory_always
from diastase_runtime.distributed.batches import Leaves
from diastase_runtime.distributed.elements import Part, Work, run_range
from diastase_runtime.distributed.errors import UnfitWorkerError
from diastase_runtime.distributed.fitness import check_version
from diastase_runtime.errors import DiastaseError
from diastase_runtime.saved.errors import DamagedFileError
from diastase_runtime.saved.function import SavedFunction, load_from
from diastase_runtime.version import __version__

MOST_FUNCTIONS = 32
"""That a process, or a cluster for a client, keeps."""
_loaded: OrderedDict[str, SavedFunction] = OrderedDict()
"""By checksums of files, those last that were used last."""
_loads: dict[str, int] = {}
"""How often each file was loaded, for whoever wants to know."""
_LOADING = threading.Lock()

_SHORT = 0.01
"""Seconds. A first call of less than that was mostly spent on what later ones need not do."""


def shipped(content: bytes) -> bytes:
    """The file of a function."""
    return content


def loaded(name: str, checksum: str, content: bytes) -> SavedFunction:
    """The function in a file, which this process loads once."""
    with _LOADING:
        function = _loaded.get(checksum)
        if function is None:
            function = load_from(Path(name), io.BytesIO(content))
            if function.checksum != checksum:
                raise DamagedFileError(file=Path(name), reason="it has another function")
            _loaded[checksum] = function
            _loads[checksum] = _loads.get(checksum, 0) + 1
            if len(_loaded) > MOST_FUNCTIONS:
                _loaded.popitem(last=False)
        _loaded.move_to_end(checksum)
    return function


def run_chunk(content: bytes, work: Work, columns: Leaves, first: int, count: int) -> Part:
    """Results of some calls, as `run_range` says."""
    return run_range(_function(content, work), work, columns, first, count)


def run_timed(content: bytes, work: Work, columns: Leaves, first: int, count: int) -> Part:
    """The same, told how long calls take when they are not the first ones of the process."""
    function = _function(content, work)
    part = run_range(function, work, columns, first, count)
    if part.seconds * count > _SHORT:
        return part
    return min(part, run_range(function, work, columns, first, count), key=lambda one: one.seconds)


def _function(content: bytes, work: Work) -> SavedFunction:
    keep_freed_memory_always()
    try:
        check_version(__version__, work.version)
        return loaded(work.name, work.checksum, content)
    except (DiastaseError, ImportError, OSError) as error:
        worker = f"process {os.getpid()} of {platform.node()}"
        raise UnfitWorkerError(function=work.name, worker=worker, error=error) from error


def number_of_loads(checksum: str) -> int:
    """How often this process has loaded a file."""
    return _loads.get(checksum, 0)
