"""For tests: predictable noise, and contracts that every implementation of a seam must pass.

Nothing here is secure, and nothing in the library imports it.
"""

from tacit.testing.noise import ScriptedNoise, SeededNoise

__all__ = ["ScriptedNoise", "SeededNoise"]
