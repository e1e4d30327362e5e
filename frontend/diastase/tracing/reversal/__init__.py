"""Loops gone through backwards, for adjoints of circuits and for derivatives alike.

    for k in range(n): c = body(k, c)     rows[k] = c for each k, computed once more (`rows`)
                                      ->  for k in reversed(range(n)): s = step(k, rows[k], s)

`loops` has loops as data, how often they go round, and loops with a condition as counted ones;
`backwards` goes through them. What a state is and what a step does to it are the caller's: the
register and an undone iteration (`tracing.adjoint`), cotangents and a vector-Jacobian product
(`tracing.derivatives`).
"""
