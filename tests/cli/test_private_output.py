"""Nothing of a private record in what commands print, log or write; and how a run ends early."""

from __future__ import annotations

import logging
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tacit.cli import exit_codes, private_run
from tacit.ledger import SqliteLedger

pytestmark = pytest.mark.needs("pandas")

NUMBER = 7919.123456789
TRACES = [
    b"canarybird",
    b"rareLabelX",
    b"personCanary77",
    b"7919.12",
    b"7.91912",
    struct.pack("<d", NUMBER),
    "canarybird".encode("utf-16-le"),
]
SHORT_TRACE = struct.pack("<f", NUMBER)  # not among hashes: they hold any four bytes now and then
ODD_ROWS = (
    f"personCanary77,{NUMBER},canarybird,rareLabelX\n",
    "personCanary77\n",
    f"personCanary77,{NUMBER},canarybird,rareLabelX,canarybird,{NUMBER}\n",
    f'personCanary77,"{NUMBER},canarybird,rareLabelX\n',
    "personCanary77,\udcff\udcfe,canarybird,rareLabelX\n",
)


def marked(desk: Any) -> Path:
    """Return private records with odd ones among them."""
    lines = (desk.folder / "patients.csv").read_text().splitlines(keepends=True)
    text = "".join([*lines[:200], *ODD_ROWS, *lines[200:], ODD_ROWS[0]])
    return desk.put("marked.csv", text.encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("verb", ["fit", "label"])
@pytest.mark.parametrize("learner", ["tree", "logistic"])
def test_a_marked_record_shows_nowhere(
    desk: Any, caplog: pytest.LogCaptureFixture, verb: str, learner: str
) -> None:
    caplog.set_level(0)
    logging.getLogger().setLevel(0)
    private, kept = marked(desk), desk.folder / "out"
    kept.mkdir()
    out = kept / ("model.tacit" if verb == "fit" else "labels.csv")
    more: dict[str, object] = {}
    if verb == "fit":
        more = {"report": kept / "report.html", "labels": kept / "labels.csv"}
    words = desk.words(verb, private=private, learner=learner, out=out, group="person", **more)
    done = desk(*words)
    assert done.exit_code == 0, done.output
    found = {path.name: path.read_bytes() for path in kept.iterdir()}
    if verb == "fit":  # packed: nothing can be found in it as it is
        with zipfile.ZipFile(out) as packed:
            found |= {name: packed.read(name) for name in packed.namelist()}
        del found[out.name]
    found["terminal"] = done.output.encode() + done.stderr.encode()
    found["log"] = caplog.text.encode()
    assert not [name for name, content in found.items() if SHORT_TRACE in content]
    for file in (desk.folder / ".tacit").rglob("*"):
        if file.is_file():
            found[str(file)] = file.read_bytes()
    for name, content in found.items():
        assert [trace for trace in TRACES if trace in content] == [], name


def told(desk: Any, private: Path) -> tuple[int, str]:
    """Return how a run ended and what it said, without what the noise decided."""
    done = desk(*desk.words("fit", "--fresh", private=private, n_teachers=25, group=None))
    said = re.sub(r"^(No s|S)ignal: .*$", "", done.output + done.stderr, flags=re.MULTILINE)
    (desk.folder / "model.tacit").unlink()
    SqliteLedger(desk.folder / ".tacit" / "ledgers" / "patients.sqlite").close()
    return done.exit_code, re.sub(r"\d+(\.\d+)?(e-?\d+)?", "#", said)


def test_odd_rows_change_no_word_of_what_is_said(desk: Any) -> None:
    """Neither how many labels are no class, nor which rows could not be read."""
    desk("datasets", "add", "more", "--epsilon", 9, "--delta", "1e-3", "--project", desk.folder)
    plain = told(desk, desk.folder / "patients.csv")
    assert plain == told(desk, marked(desk))
    assert plain[0] == 0


@pytest.mark.parametrize("kind", [ValueError, BaseException, GeneratorExit])
def test_an_error_that_is_not_ours_is_not_quoted(
    desk: Any, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise kind("could not convert canarybird")

    monkeypatch.setattr(private_run.ProjectClassifier, "fit", fails)
    result = desk.fit()
    assert result.exit_code == exit_codes.DEFECT
    assert "canarybird" not in result.output and f"Unexpected {kind.__name__}" in result.stderr
    assert len(list((desk.folder / ".tacit" / "runs").glob("*.run"))) == 1


def test_an_interrupted_run_says_how_to_go_on_and_goes_on(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = desk.put("model.tacit", b"the old one")

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tacit.persistence.save_student", interrupted)
        result = desk.fit()
    assert result.exit_code == exit_codes.INTERRUPTED
    assert (
        "run the same command again to resume" in result.stderr
        and old.read_bytes() == b"the old one"
    )
    again = desk.fit("--json")
    assert again.exit_code == 0 and "paid for already" in again.stderr
    assert '"resumed": true' in again.stdout
    accounts = desk("datasets", "--project", desk.folder).stdout
    assert "(1, 1e-05)" in accounts
