"""Passes just before and in the LLVM dialect: what functions and blocks take and return."""
