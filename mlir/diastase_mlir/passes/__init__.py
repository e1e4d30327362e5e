"""Passes of ours: one file each, named as its function `(module: ir.Module) -> None`."""
