"""An abstract interpreter: what all runs of a circuit have in common, found without running it."""
