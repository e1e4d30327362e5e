"""Our JAX primitives as records: what they take, what they give, and that JAX may not see inside."""
