"""Looking into compilations: IR between stages, IR of the user's own, C programs, times."""
