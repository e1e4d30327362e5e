"""Random programs as Python source text, compiled by diastase and compared with other executions.

`PYTHONPATH=tests python -m source_fuzz --seconds N --seed S` runs a campaign; with the same seed it goes on
where it stopped. A program is a module in text (`modules`): functions, `calls()` with the arguments of one or
more calls, and `build(jit)`, which compiles with what it is given. The reference is `build` with `jax.jit`, with
no compiler at all, or on `default.qubit`; `oracle` says which, and what must be equal. So a finding is a file that
runs by itself.

Array code is written by proposing: an expression of random variables is kept if JAX can trace it (`writer`), so
the grammar states what users write and not what is well-typed.
"""
