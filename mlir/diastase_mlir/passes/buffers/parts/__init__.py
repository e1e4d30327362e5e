"""Parts of functions: long blocks are cut into functions, which some passes take less time for."""
