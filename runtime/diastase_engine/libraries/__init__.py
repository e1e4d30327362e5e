"""Shared libraries for this processor: which there are, found in the cache or built."""
