"""JAX's control flow and arithmetic around gates and outcomes."""
