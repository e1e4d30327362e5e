"""Variables, loops and changes of converted functions at the border of what is traced."""
