"""Sphinx settings. The documentation builds offline and warnings are errors."""

from __future__ import annotations

import importlib
import pkgutil

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

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

# Attributes of different classes share names; a plain name in a docstring is not a link to one.
suppress_warnings = ["ref.python"]

autodoc_default_options = {
    "members": True,
    "show-inheritance": True,
    # Made by scikit-learn for every estimator; their text links into scikit-learn's own pages.
    "exclude-members": "set_fit_request, set_score_request, set_transform_request",
}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_custom_sections = ["Privacy"]
napoleon_use_rtype = False

# The tests run the examples in docstrings. Pages mark theirs with the doctest directive.
doctest_test_doctest_blocks = ""


class Modules(SphinxDirective):
    """``.. modules:: tacit.accounting``: every public module below a package."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the parsed ``automodule`` of each."""
        package = importlib.import_module(self.arguments[0])
        found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
        lines: list[str] = []
        for module in sorted(found, key=lambda module: module.name):
            if any(part.startswith("_") for part in module.name.split(".")):
                continue
            lines += [module.name, "-" * len(module.name), "", f".. automodule:: {module.name}"]
            lines += ["   :no-members:", ""] if module.ispkg else [""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Sphinx) -> None:
    """Register the directive used by the reference pages."""
    app.add_directive("modules", Modules)
