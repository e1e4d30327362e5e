"""Gates, channels and prepared wires, as operations."""
