"""Circuits of compiled functions as OpenQASM 3: what `f.qasm` gives.

In: the jaxpr of a traced program, after the passes of its QNode, as lowering takes it. It has the
operations of the `quantum` dialect one to one, and loops with the bounds that the user gave, which
the lowered module has no more. Out: one program as text (`export`).

    equations of the circuit  -> statements       `reader`, gates by the table of `gates`
    classical equations       -> expressions      `values`, of scalars `expressions`
    measurements at its end   -> `measure`        `results`

The trap: an expression is written where it is used, so whatever it names must not have been
assigned in between. Variables are assigned in two places only: what a loop carries at the end of
its body, what a branch gives at the end of each branch.
"""
