"""Resources of circuits: counts, depths and Pauli products, exact and in symbols; `qml.specs`."""
