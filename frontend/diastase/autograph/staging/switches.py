"""What happens where a statement stays Python's: a warning, an error, or nothing.

The two switches are attributes of the package, as in Catalyst, and read when they are needed.
"""

import sys
import warnings
from typing import Any

from diastase.autograph.staging.errors import (
    AutoGraphError,
    AutoGraphWarning,
    NotConvertedError,
)
from diastase_runtime.errors import Span


def is_strict() -> bool:
    """Whether what stays Python's is an error."""
    return _package().autograph_strict_conversion


def _package() -> Any:
    """The package whose attributes its users set; it imports us, so we do not import it."""
    return sys.modules["diastase"]


def warn_or_refuse(cause: Exception, text: str, line: Span | None) -> None:
    """Tell the user that something stays Python's, and why."""
    if is_strict():
        if isinstance(cause, AutoGraphError):
            raise cause
        raise NotConvertedError(what=text, span=line) from cause
    if _package().autograph_ignore_fallbacks:
        return
    if line is None:
        warnings.warn(text, AutoGraphWarning, stacklevel=2)
    else:
        warnings.warn_explicit(text, AutoGraphWarning, line.file, line.line)
