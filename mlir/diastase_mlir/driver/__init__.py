"""One compilation from its start to the shared library: pipeline, caches, reproducers."""
