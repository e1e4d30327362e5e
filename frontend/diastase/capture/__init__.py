"""What goes on while a function is traced: the trace that a thread is in, and regions of it."""
