"""Whether scheduler and workers of a cluster have this package, before they are sent any of it.

In: a client. Out: nothing, or `UnfitWorkerError`. Dask ends a worker that cannot read a task, and
gives the task to the next one; so what has no `diastase-runtime`, or another one than this, must be
found out by a function of Python's own. Each is asked once for a client.

The trap: a worker that comes later, in the middle of a map, has not been asked. It ends with the
first task that it cannot read; where it has another version, the task says so (`check_version`).
"""

import pkgutil
from typing import Any

from diastase_runtime.distributed.errors import UnfitWorkerError
from diastase_runtime.version import __version__

_ASKED = "_diastase_asked"
"""An attribute of clients: who has this package."""
_VERSION = "diastase_runtime.version:__version__"
_NO_PACKAGE = (ImportError, AttributeError)


def check_cluster(client: Any, function: str) -> None:
    """Ask the scheduler and workers that were not asked before; waits until there is a worker."""
    asked: set[str] = vars(client).setdefault(_ASKED, set())
    scheduler = "the scheduler"
    if scheduler not in asked:
        try:
            version = client.run_on_scheduler(pkgutil.resolve_name, _VERSION)
        except _NO_PACKAGE as error:
            version = error
        _check(function, scheduler, version)
        asked.add(scheduler)
    if not client.nthreads():
        client.submit(int, pure=False).result()  # a cluster may start workers for tasks alone
    new = sorted(set(client.nthreads()) - asked)
    if not new:
        return
    versions = client.run(pkgutil.resolve_name, _VERSION, workers=new, on_error="return")
    for worker, version in versions.items():
        _check(function, worker, version)
        if version == __version__:  # else it is gone meanwhile
            asked.add(worker)


def check_version(of_worker: str, wanted: str) -> None:
    """Refuse a worker with another version than who gives the work out; raises `ImportError`."""
    if of_worker != wanted:
        raise ImportError(f"it has diastase-runtime {of_worker}, and the client {wanted}")


def _check(function: str, who: str, version: Any) -> None:
    error: Exception | None = None
    if isinstance(version, _NO_PACKAGE):
        error = version
    elif isinstance(version, str):
        try:
            check_version(version, __version__)
        except ImportError as wrong:
            error = wrong
    if error is not None:
        raise UnfitWorkerError(function=function, worker=who, error=error) from error
