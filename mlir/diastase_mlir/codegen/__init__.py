"""From a module in the `llvm` dialect to a shared library for this computer's processor."""
