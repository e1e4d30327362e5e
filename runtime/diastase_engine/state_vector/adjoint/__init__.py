"""The sweep back: derivatives by the parameters of everything on a tape."""
