"""What blocks and functions take and return of arrays."""
