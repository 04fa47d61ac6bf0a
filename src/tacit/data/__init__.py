"""Inputs: a public schema, and the reader that converts every private cell by itself."""

from tacit.data.column import Column, ColumnKind
from tacit.data.reader import PointReader
from tacit.data.schema import Layout, Schema

__all__ = ["Column", "ColumnKind", "Layout", "PointReader", "Schema"]
