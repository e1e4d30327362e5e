"""Two hundred classical programs, and more, beside `jax.jit`: `python benchmarks/classical_200`.

`rows.py` says what a program is; `listing.py` has all of them, from one module for each group of
the documentation of JAX; `worker.py` measures one beside `jax.jit`; `__main__.py` is the command.
"""
