"""Elements of a batch with small registers, side by side in the lanes of vectors.

`elements` makes the body of one element that of a few of them, by JAX's own batching: registers
become lane registers (`primitives.lanes`), and `rules` says what their operations become. What has
no rule leaves the batch as it is, an element at a time.
"""
