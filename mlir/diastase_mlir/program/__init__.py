"""What the frontend hands to the compiler, and the identity of it."""
