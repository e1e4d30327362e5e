"""QNodes that are Clifford circuits with Pauli noise, given to stim.

A body is traced with its noise as `pauli_channel` (`channels`), and read while the program is
compiled (`reading`): known numbers are followed, loops unrolled, gates turned into stim's, and
outcomes into bits, each a parity of measurements. What is computed of outcomes stays a jaxpr, over
all shots at once. With shots stim samples the measurements when the program runs (`sampling`);
without, Pauli words are taken back through the circuit, and no simulator runs (`averages`).

The trap: whatever cannot be shown to be such a circuit raises `NotCliffordError`. Nothing is
approximated, so an angle that is nearly Clifford is none.
"""
