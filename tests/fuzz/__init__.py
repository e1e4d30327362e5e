"""A standing campaign against wrong answers: `make fuzz`, and what it has found (`corpus`)."""
