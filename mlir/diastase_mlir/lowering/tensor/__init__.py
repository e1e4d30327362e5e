"""Rules for arrays: their forms, their elements, products, sorting, windows."""
