"""Ways to call a loaded program: with flat arguments, and from compiled code of XLA's."""
