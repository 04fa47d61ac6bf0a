"""Representations of points, fitted on the public pool alone."""
