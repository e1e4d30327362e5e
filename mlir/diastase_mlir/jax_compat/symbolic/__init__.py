"""JAX's symbolic dimensions, and comparisons of them that it cannot decide."""
