"""Our JAX primitives as records: what they take, what they give, what JAX may not do to them."""
