"""Rules for random bits and PRNG keys."""
