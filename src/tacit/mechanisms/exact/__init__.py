"""Exact sampling from finite laws, for the exponential mechanism and its relatives."""
