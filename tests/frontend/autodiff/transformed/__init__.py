"""Every transformation of every kind of program, beside extended precision and backprop."""
