"""The types of overlays; see the package's docstring."""

from collections.abc import Callable, Mapping
from typing import Any

Original = Callable[..., Any]
"""The function of JAX that an overlay replaces."""

Overlay = Callable[..., Any]
"""Called as `overlay(dimension_table, original, *args, **keywords)`."""

Overlays = Mapping[str, Overlay]
"""By keys of `OVERLAID`, the table of what is replaced (`jax_compat.patches`)."""
