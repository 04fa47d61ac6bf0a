"""Tables in files: CSV, Parquet and LIBSVM, public and private.

Public files are read strictly: whatever is odd is named with its line. Private files are read so
that nothing a row holds is raised, counted or shown (see ``tacit.data.tables.read``).
"""

from tacit.data.tables.files import Format, ReadOptions
from tacit.data.tables.read import (
    Pool,
    PrivateTable,
    read_labelled,
    read_points,
    read_pool,
    read_private,
    read_table,
)

__all__ = [
    "Format",
    "Pool",
    "PrivateTable",
    "ReadOptions",
    "read_labelled",
    "read_points",
    "read_pool",
    "read_private",
    "read_table",
]
