"""JVP, linearization, transposition and batching rules of loops and branches."""
