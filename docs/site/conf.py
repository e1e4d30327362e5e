"""What Sphinx is told. Its sources are copies that `docs/site/__main__.py` makes."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import docstrings  # noqa: E402
import error_links  # noqa: E402

from diastase_runtime.version import __version__  # noqa: E402

os.environ.setdefault("JAX_PLATFORMS", "cpu")

project = "diastase"
author = "the diastase developers"
project_copyright = "the diastase developers; Apache-2.0"
release = version = __version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
root_doc = "index"
highlight_language = "text"  # of blocks that do not say theirs
nitpicky = True
# Types in signatures are words of JAX, PennyLane and Python here: there is nothing to link them to.
nitpick_ignore_regex = [(r"py:.*", r".*")]

myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4

# Each tutorial runs when the site is built, from its first cell. One that fails is a warning with
# its cell and traceback, and warnings are errors.
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_show_tb = True
nb_merge_streams = True

suppress_warnings = [
    "myst.header"
]  # levels that a page leaves out: GitHub takes them, so do readers

autosummary_generate = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_preprocess_types = False
default_role = "code"

html_theme = "pydata_sphinx_theme"
html_title = "diastase"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_context = {"default_mode": "auto"}
html_favicon = str(HERE / "static" / "icon.svg")
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "diastase"},
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "gallery": []}
copybutton_exclude = ".linenos, .gp, .go"
toc_object_entries_show_parents = "hide"


def setup(app):
    """Docstrings are Markdown's dialect of our sources, not reStructuredText."""
    app.connect("autodoc-process-docstring", docstrings.as_rst, priority=100)
    app.connect("autodoc-process-signature", docstrings.shortened)
    app.connect("missing-reference", error_links.to_error)
