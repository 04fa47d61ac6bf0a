"""Inputs: a public schema, and the reader that converts every private cell by itself."""

from tacit.data.reader import PointReader
from tacit.data.schema import Column, Kind, Layout, Schema

__all__ = ["Column", "Kind", "Layout", "PointReader", "Schema"]
