"""Functions on arrays of sizes that only the call knows."""
