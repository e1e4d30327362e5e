"""Programs that run without Python: the loader, a call and its results, written in C."""
