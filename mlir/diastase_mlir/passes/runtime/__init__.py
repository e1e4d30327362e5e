"""From what the module asks of the call, and of libraries, to calls of functions."""
