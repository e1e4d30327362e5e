"""What happens where a statement stays Python's: a warning, an error, or nothing.

The two switches are attributes of the package, as in Catalyst, and read when they are needed.
"""

import warnings

import diastase
from diastase.autograph.errors import AutoGraphError, AutoGraphWarning, NotConvertedError
from diastase_runtime.errors import Span


def is_strict() -> bool:
    """Whether what stays Python's is an error."""
    return diastase.autograph_strict_conversion


def warn_or_refuse(cause: Exception, text: str, line: Span | None) -> None:
    """Tell the user that something stays Python's, and why."""
    if is_strict():
        if isinstance(cause, AutoGraphError):
            raise cause
        raise NotConvertedError(what=text, span=line) from cause
    if diastase.autograph_ignore_fallbacks:
        return
    if line is None:
        warnings.warn(text, AutoGraphWarning, stacklevel=2)
    else:
        warnings.warn_explicit(text, AutoGraphWarning, line.file, line.line)
