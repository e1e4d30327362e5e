"""How exact numbers are, ours and XLA's: functions, conversions, edges, derivatives (`docs/accuracy.md`)."""
