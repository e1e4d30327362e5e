"""How parts of functions are named, which two places must agree on.

`passes.buffers.parts.outlining` cuts a function into `name.part0`, `name.part1`, …, each called
once by the function `name`, so `trip_counts` knows that they run once if it does. Parts of an inner
block, which may be the body of a loop, belong to a name of their own: `name.inner0.part0`.
`passes.buffers.parts.equal_loops` makes a function of loops that are equal, which is called for
each.
"""

PART = ".part"
"""Between the name of the function and the number of the part."""

INNER = ".inner"
"""Between the name of the function and the number of a block inside of it that is cut."""

LOOP = ".loop"
"""Between the name of the function and the number of a loop that it has many times."""
