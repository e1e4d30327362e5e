"""How exact numbers are, ours and XLA's: what `docs/accuracy.md` is made of."""
