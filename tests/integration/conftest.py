"""The scripts here are run by the tests, in interpreters of their own; they hold no tests."""

from pathlib import Path

collect_ignore = [
    path.name for path in Path(__file__).parent.glob("*.py") if not path.name.startswith("test_")
]
