"""Equations of the matrix that run in Python, by program; all others are compiled."""

from collections.abc import Mapping, Sequence

ON_THE_HOST: Mapping[str, Sequence[str]] = {}
"""Primitives, each as often as it is called; the same in both forms."""
