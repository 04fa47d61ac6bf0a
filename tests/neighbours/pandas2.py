"""Run the pairs under pandas 2, in an environment of its own that is made on first use.

``python -m tests.neighbours.pandas2 --pairs 5000 --fits 500 --cli 50``: arguments go to ``run``.
The environment, ``.venv-pandas2``, has the locked packages of the tests but for pandas.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".venv-pandas2"
LOCK = ROOT / "requirements" / "test.txt"
PANDAS = Path(__file__).with_name("pandas2.txt")
"""What takes the place of the locked pandas, with hashes."""


def main(arguments: list[str]) -> int:
    """Make the environment if need be, and run there."""
    python = prepared()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    words = [str(python), "-m", "tests.neighbours.run", *arguments]
    return subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode


def prepared() -> Path:
    """Return the interpreter of an environment that has what the locks say."""
    python, stamp = PLACE / "bin" / "python", PLACE / "tacit-pandas2"
    wanted = _wanted()
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"making {PLACE.name} (once; it can take a minute or two)", file=sys.stderr)
    venv.create(PLACE, clear=True, with_pip=True)
    made = PLACE / "test.txt"
    made.write_text(_without_pandas(LOCK.read_text()))
    _pip(python, "--no-build-isolation", "-r", str(made))
    _pip(python, "--no-deps", "-r", str(PANDAS))
    stamp.write_text(wanted)
    return python


def _wanted() -> str:
    state = hashlib.sha256(sys.version.encode())
    for lock in (LOCK, PANDAS):
        state.update(lock.read_bytes())
    return state.hexdigest()


def _without_pandas(lock: str) -> str:
    """Return a lock without the entry of pandas."""
    lines, leave = [], False
    for line in lock.splitlines():
        if not line.startswith((" ", "#")):
            leave = line.startswith("pandas==")
        if not leave:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _pip(python: Path, *words: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--require-hashes", *words], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
