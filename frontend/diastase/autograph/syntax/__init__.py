"""From the source of a function to its converted code."""
