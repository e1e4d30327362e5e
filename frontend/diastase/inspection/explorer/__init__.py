"""The explorer: a page that shows what becomes of each of the user's lines, stage by stage.

`columns` are the texts, with the user's lines of each line; `sources` the user's own text;
`drawings` the circuits; `page` puts them into one HTML file, with `page.{html,css,js}` beside it.
"""
