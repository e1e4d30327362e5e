"""Rules for loops, branches and batches."""
