"""For tests: predictable noise, and contracts that every implementation of a seam must pass.

Nothing here is secure, and nothing in the library imports it.
"""

from typing import Any

from tacit.testing.noise import ScriptedNoise, SeededNoise

__all__ = ["CheckFailed", "ScriptedNoise", "SeededNoise", "check_mechanism"]


def __getattr__(name: str) -> Any:
    # The contracts import every mechanism: loaded when they are asked for.
    if name in ("CheckFailed", "check_mechanism"):
        from tacit.testing import contracts

        return getattr(contracts, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
