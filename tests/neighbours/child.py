"""The command line in a process of its own, with recorders in place: ``python -m ... JOB``.

JOB holds the words of the command, a seed and the record of the other side; it is overwritten with
the record of this run.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from tests.neighbours.seams import Record, intercepted


def main(job: Path) -> None:
    """Run the command as ``tacit`` does."""
    from tacit.cli.main import main as command

    words, seed, before = pickle.loads(job.read_bytes())
    record = Record()
    sys.argv = ["tacit", *words]
    try:
        with intercepted(record, seed, before=before):
            command()
    finally:
        job.write_bytes(pickle.dumps(record))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
