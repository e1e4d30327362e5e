"""What is kept where Catalyst keeps it; `exceptions` are the base classes of its errors."""

from diastase.namespace.lazy_names import lazy_names, public_names
from diastase.utils import exceptions

__all__ = ["exceptions"]

__getattr__ = lazy_names(__name__, {})
__dir__ = public_names(__name__)
