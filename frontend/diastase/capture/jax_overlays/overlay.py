"""The types of overlays; see the package's docstring."""

from collections.abc import Callable
from typing import Any

Original = Callable[..., Any]
"""The function of JAX that an overlay replaces."""

Overlay = Callable[..., Any]
"""Called as `overlay(dimension_table, original, *args, **keywords)`."""
