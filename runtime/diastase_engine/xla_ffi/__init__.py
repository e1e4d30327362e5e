"""The handler by which XLA calls compiled programs, in a library that is never unloaded."""
