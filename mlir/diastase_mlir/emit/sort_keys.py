"""What lowering tells passes about a `stablehlo.sort` whose comparison is one of keys in order.

A sort without these attributes is by what its region says, whatever that is.
"""

KEYS = "diastase.sort_keys"
"""Attribute: for each of the first operands, which are the keys, the order of its elements.

`signed` and `unsigned` integers; `float`, in which -0.0 equals 0.0, and NaNs are equal and come
last; `total`, of floats, by sign, then by bits; `complex`, by the real, then the imaginary part,
each as `float`.
"""

DESCENDING = "diastase.descending"
"""Attribute: that the orders are reversed; equal elements stay in order nevertheless."""

POSITIONS = "diastase.positions"
"""Attribute: the operands that are integers `0, 1, …` along the axis."""

FIRST = "diastase.first"
"""Attribute: how many elements of each line are used of the results."""
