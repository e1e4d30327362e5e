"""Elementary functions for loops over arrays: vectors at once, errors below one unit."""
