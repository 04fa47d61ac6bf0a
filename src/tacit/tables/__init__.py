"""Tables in files: CSV, Parquet and LIBSVM, public and private.

Public files are read strictly: whatever is odd is named with its line. Private files are read so
that nothing a row holds is raised, counted or shown (see ``tacit.tables.read``).
"""

from tacit.tables.layout import Column, Columns, Layout, Width
from tacit.tables.read import (
    Pool,
    PrivateTable,
    read_labelled,
    read_points,
    read_pool,
    read_private,
)
from tacit.tables.source import Format, Reading

__all__ = [
    "Column",
    "Columns",
    "Format",
    "Layout",
    "Pool",
    "PrivateTable",
    "Reading",
    "Width",
    "read_labelled",
    "read_points",
    "read_pool",
    "read_private",
]
