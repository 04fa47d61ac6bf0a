"""The harness is a package of plain modules: found from the root of the checkout."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

os.environ.setdefault("RUST_BACKTRACE", "0")
