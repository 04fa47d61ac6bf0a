"""Model-agnostic private learning: teachers vote, votes are released with differential privacy."""

__version__ = "0.1.0.dev0"

__all__ = ["__version__"]
