"""Forked children that never return into the test, whatever happens in them."""

import os
import signal
import traceback
from collections.abc import Callable


def forked(check: Callable[[], bool]) -> int:
    """Start a child that checks something; its exit status is 0 if that holds, within a minute.

    A child that went on with the rest of the suite would report to xdist beside its parent.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            status = 0 if check() else 1
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child
