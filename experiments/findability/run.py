"""Can a reader who does not know the code find a function by what it does?

Draws functions of ``src/tacit`` and prints, for each, the first sentence of its docstring: the
questions. The reader sees these and the list of folders, and names for each the folder where they
would look first. A sentence that gives the folder away is edited by hand before it is shown.

    python experiments/findability/run.py --seed 18              # questions and folders
    python experiments/findability/run.py --seed 18 --answers    # where they are
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2] / "src" / "tacit"
SHORTEST = 8  # lines: what is shorter is seldom looked for


def folders() -> list[str]:
    """Return the folders, two levels deep, with a slash behind each."""
    inner = (path for path in ROOT.rglob("*") if path.is_dir() and path.name != "__pycache__")
    names = sorted(path.relative_to(ROOT) for path in inner)
    return [f"{name}/" for name in names if len(name.parts) <= 2]


def functions() -> Iterator[tuple[str, str, str]]:
    """Yield file, name and first sentence of every documented public function, in order."""
    for path in sorted(ROOT.rglob("*.py")):
        place = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            text = ast.get_docstring(node)
            if text and (node.end_lineno or 0) - node.lineno + 1 >= SHORTEST:
                yield place, node.name, " ".join(text.partition("\n\n")[0].split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--number", type=int, default=15)
    parser.add_argument("--answers", action="store_true", help="print where they are instead")
    options = parser.parse_args()
    candidates = list(functions())
    rng = np.random.default_rng(options.seed)
    for number, index in enumerate(rng.permutation(len(candidates))[: options.number], 1):
        place, name, sentence = candidates[index]
        print(f"{number}. {place}: {name}" if options.answers else f"{number}. {sentence}")
    if not options.answers:
        print("\nFolders of src/tacit:", *folders(), sep="\n  ")


if __name__ == "__main__":
    main()
