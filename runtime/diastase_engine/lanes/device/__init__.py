"""Lane registers in the memory of a GPU: one launch for a gate in all lanes."""
