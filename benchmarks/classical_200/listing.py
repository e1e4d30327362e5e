"""All programs, in the order of the modules; written from the documentation of JAX 0.10.

How the cells of a family were chosen, before any time was taken: rows of what users had already
found slow keep their sizes and dtypes; the others walk through the cells so that each family has
all sizes, both precisions, both directions and both settings, most of them alone, and functions
that have no derivative are forward. Nothing is left out because it is slow or does not run here.
"""

from classical_200 import (
    arrays,
    control,
    elementwise,
    fourier,
    linear,
    networks,
    products,
    randomness,
    reductions,
    scientific,
    special,
    windows,
)

ROWS = (
    *elementwise.ROWS,
    *reductions.ROWS,
    *reductions.STATISTICS,
    *reductions.CUMULATIVE,
    *arrays.ROWS,
    *products.ROWS,
    *fourier.ROWS,
    *linear.ROWS,
    *control.ROWS,
    *windows.ROWS,
    *networks.ROWS,
    *randomness.ROWS,
    *special.ROWS,
    *scientific.ROWS,
)
