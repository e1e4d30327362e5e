"""Arrays across the border between Python and compiled code, and the memory of one call."""
