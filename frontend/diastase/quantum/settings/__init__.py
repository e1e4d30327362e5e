"""What a QNode and its call say beside the quantum function."""
