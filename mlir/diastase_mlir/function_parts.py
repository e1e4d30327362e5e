"""How parts of functions are named, which two places must agree on.

`passes.shorter_functions` cuts a function into `name.part0`, `name.part1`, …, each called once by
the function `name`; `codegen.small_loops` counts their loops as loops of that function.
"""

PART = ".part"
"""Between the name of the function and the number of the part."""
