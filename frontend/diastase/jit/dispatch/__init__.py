"""From the arguments of a call to the program that serves it: guards, keys, the cache."""
