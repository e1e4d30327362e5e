"""Equations of the matrix that run in Python, by program; all others are compiled.

The compiler has no transform of its own: XLA's is a library that only it can call.
"""

from collections.abc import Mapping, Sequence

ON_THE_HOST: Mapping[str, Sequence[str]] = {
    "scipy_functions: fft": ("fft",),
    "scipy_functions: fft and back": ("fft", "fft"),
    "scipy_functions: rfft": ("fft",),
}
"""Primitives, each as often as it is called; the same in both forms."""
