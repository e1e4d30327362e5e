"""Checked builds: what is asked for, and LLVM IR whose accesses to memory are checked."""
