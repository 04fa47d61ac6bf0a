"""Write docs/licences.md: the licence of every package in the lock files.

Run by ``./dev licences`` inside the environment that holds all of them.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Locked for other platforms than the one this runs on.
ELSEWHERE = {"cffi": "MIT", "colorama": "BSD-3-Clause", "pycparser": "BSD-3-Clause"}

# Packages whose metadata hold the text of a licence, or no name of one; read by hand.
BY_HAND = {
    "autodp": "Apache-2.0",
    "matplotlib": "Matplotlib licence (PSF style)",
    "skops": "MIT",
}

HEADER = """\
# Licences of the dependencies

`tacit` is under the Apache License 2.0. None of the packages below is part of it; they are
installed beside it. The table lists what the lock files hold, as each package's own metadata put
it: `core` is what using `tacit` needs, `test` and `dev` what working on it adds. `./dev licences`
writes this page.

| package | version | licence | lock |
|---|---|---|---|
"""


def locked(level: str) -> dict[str, str]:
    """Return the versions in one lock file, by package name."""
    text = (ROOT / "requirements" / f"{level}.txt").read_text()
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", text, flags=re.MULTILINE))


def licence(name: str) -> str:
    """Return the licence of an installed package in a few words."""
    if name in BY_HAND:
        return BY_HAND[name]
    try:
        found = metadata(name)
    except PackageNotFoundError:
        return ELSEWHERE[name]
    if found.get("License-Expression"):
        return found["License-Expression"]
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in found.get_all("Classifier", [])
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    text = (found.get("License") or "").strip()
    if text and len(text) < 40 and "\n" not in text:
        return text
    if classifiers:
        return ", ".join(classifiers)
    raise SystemExit(f"no licence in the metadata of {name}: read it and add it to BY_HAND")


def page() -> str:
    """Return the whole page."""
    core, test, dev = (locked(level) for level in ("core", "test", "dev"))
    rows = []
    for name in sorted(dev):
        level = "core" if name in core else "test" if name in test else "dev"
        rows.append(f"| {name} | {dev[name]} | {licence(name).replace('|', '/')} | {level} |")
    return HEADER + "\n".join(rows) + "\n"


if __name__ == "__main__":
    (ROOT / "docs" / "licences.md").write_text(page())
