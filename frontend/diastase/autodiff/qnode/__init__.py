"""The body of a QNode, taken apart for its derivatives."""
