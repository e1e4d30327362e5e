"""The matrix: every family of JAX's functions over sizes that only the call knows.

`programs/` holds the tables, a file a topic; `inputs.py` makes arguments of any size, `runner.py`
compares with plain JAX. `test_matrix.py` runs all of it.
"""
