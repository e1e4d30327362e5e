"""QNodes with PennyLane's transforms: recorded into tapes by PennyLane itself, then compiled.

    quantum function -> one tape -> transforms -> several tapes -> a circuit of each -> results
                                               -> post-processing ----------------------^

A tape is a flat list of operators whose parameters may be tracers. `recording` makes the first one,
`pipeline` applies the transforms, `replay` records a tape into a circuit, and `call` is all of it.
`control_flow` is what loops and branches do while a tape is recorded.
"""
