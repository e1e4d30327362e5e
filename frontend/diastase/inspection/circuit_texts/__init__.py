"""Circuits of compiled functions as texts for others: `f.qasm` and `f.qir`.

In: the jaxpr of a traced program, after the passes of its QNode, as lowering takes it. It has the
operations of the `quantum` dialect one to one, and loops with the bounds that the user gave, which
the lowered module has no more. Out: one program as text.

    equations of the circuit  -> statements       `reader`, gates by the table of `gates`
    classical equations       -> expressions      `values`, of scalars `expressions`
    measurements at its end   -> `Read`           `results`
    statements                -> text             `openqasm`; `qir`
"""
