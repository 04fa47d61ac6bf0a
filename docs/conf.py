"""Sphinx settings. The documentation builds offline and warnings are errors."""

from __future__ import annotations

import tacit

project = "tacit"
author = "The tacit maintainers"
project_copyright = "The tacit maintainers"
version = release = tacit.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"tacit {release}"
html_copy_source = False
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_custom_sections = ["Privacy"]
napoleon_use_rtype = False

# The tests run the examples in docstrings. Pages mark theirs with the doctest directive.
doctest_test_doctest_blocks = ""
