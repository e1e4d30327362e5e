"""The thread pool of compiled programs and of the engine, in a library that is never unloaded."""
