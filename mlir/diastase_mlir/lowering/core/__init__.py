"""What a lowering rule can ask for: the context, the registry, types, sizes, functions."""
