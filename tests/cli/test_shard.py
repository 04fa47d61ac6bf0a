"""``tacit shard``: what is said, refused and left behind."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tacit.cli import exit_codes
from tacit.data.tables.files import WELL_FORMED

pytestmark = pytest.mark.needs("pandas")


def words(desk: Any, *more: object, **changed: object) -> list[str]:
    options: dict[str, object] = {
        "public": desk.folder / "pool.csv",
        "out": desk.folder / "shards",
        "shards": 12,
        "id": "person",
        "label": "ill",
        **{name.replace("_", "-"): value for name, value in changed.items()},
    }
    found = ["shard", str(desk.folder / "patients.csv")]
    for name, value in options.items():
        if value is not None:
            found += [f"--{name}", str(value)]
    return [*found, *(str(word) for word in more)]


def test_from_a_file_to_checked_shards(desk: Any) -> None:
    made = desk(*words(desk))
    assert made.exit_code == 0, made.output
    assert "12 shards are in" in made.stdout and "add-remove" in made.stdout
    again = desk(*words(desk, "--json"))
    told = json.loads(again.stdout)
    assert told["shards"] == 12 and told["fingerprint"] in made.stdout
    checked = desk("shard", "--verify", desk.folder / "shards")
    assert checked.exit_code == 0 and "none in two" in checked.stdout
    assert json.loads(desk("shard", "--verify", desk.folder / "shards", "--json").stdout)["ok"]


def test_nothing_said_depends_on_the_records(desk: Any) -> None:
    first = desk(*words(desk))
    rows = (desk.folder / "patients.csv").read_text().splitlines(keepends=True)
    desk.put("patients.csv", "".join(rows[:100]))
    again = desk(*words(desk, "--fresh", "--key-file", desk.folder / "shards" / "key"))
    assert (first.stdout, first.stderr) == (again.stdout, again.stderr)
    checked = desk("shard", "--verify", desk.folder / "shards")
    # As whole words: a fingerprint may hold any three digits.
    said = set(re.findall(r"\w+", (checked.output + first.output).replace(str(desk.folder), "")))
    assert "12" in said and not said & {"100", "600"}


def test_a_dry_run_reads_no_record_and_makes_nothing(desk: Any) -> None:
    said = desk(*words(desk, "--dry-run"))
    assert said.exit_code == 0 and "no record was read" in said.stdout
    assert not (desk.folder / "shards").exists()
    told = json.loads(desk(*words(desk, "--dry-run", "--json")).stdout)
    assert (told["numbers"], told["categories"]) == (["age"], ["sex"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"id": None}, "--id must name the column with the identifier of each record"),
        ({"id": "nobody"}, "no column 'nobody'"),
        ({"out": None}, "--out, --shards and --label"),
        ({"label": "person"}, "different columns"),
        ({"public": None, "category": "age"}, "--category needs --public"),
        ({"key_file": "nowhere.key"}, "There is no file"),
        ({"delimiter": ";"}, "--delimiter"),
    ],
)
def test_bad_input_ends_in_one_line(desk: Any, changed: Any, said: str) -> None:
    result = desk(*words(desk, **changed))
    assert result.exit_code == 2
    assert said in result.stderr and len(result.stderr.splitlines()) == 1
    assert not (desk.folder / "shards").exists()
    assert desk("shard").exit_code == 2


def test_a_key_file_is_a_secret_in_hexadecimal(desk: Any) -> None:
    path = desk.put("my.key", "not hexadecimal, but secret")
    path.chmod(0o600)
    for content in ("not hexadecimal, but secret", "abcd"):
        path.write_text(content)
        result = desk(*words(desk, "--key-file", path))
        assert result.exit_code == 2 and "16 to 64 bytes" in result.stderr
        assert content not in result.stderr
    path.write_text("ab" * 32)
    path.chmod(0o644)
    assert "chmod 600" in desk(*words(desk, "--key-file", path)).stderr


def test_a_finding_has_a_status_of_its_own(desk: Any) -> None:
    desk(*words(desk))
    (desk.folder / "shards" / "000004.parquet").unlink()
    found = desk("shard", "--verify", desk.folder / "shards")
    assert found.exit_code == 1 and "000004.parquet' is missing" in found.stderr
    told = desk("shard", "--verify", desk.folder / "shards", "--json")
    assert told.exit_code == 1 and not json.loads(told.stdout)["ok"]
    assert desk("shard", "--verify", desk.folder / "elsewhere").exit_code == 2


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (RuntimeError("canarybird"), exit_codes.DEFECT),
        (KeyboardInterrupt(), exit_codes.INTERRUPTED),
    ],
)
def test_a_defect_or_an_interruption_shows_nothing_private(
    desk: Any, monkeypatch: pytest.MonkeyPatch, problem: BaseException, status: int
) -> None:
    def fails(*_: Any) -> None:
        raise problem

    with monkeypatch.context() as patched:
        patched.setattr("tacit.data.shards.write.write_merged", fails)
        result = desk(*words(desk))
    assert result.exit_code == status and "canarybird" not in result.output
    assert desk(*words(desk)).exit_code == 0


def test_quoted_line_breaks_are_said_of_shards(desk: Any) -> None:
    plain = json.loads(desk(*words(desk, "--json")).stdout)
    allowed = desk(*words(desk, "--json", "--quoted-newlines", out=desk.folder / "quoted"))
    assert plain["assumptions"] == []
    assert json.loads(allowed.stdout)["assumptions"] == [WELL_FORMED]
    assert WELL_FORMED in desk(*words(desk, "--quoted-newlines", out=desk.folder / "quoted")).stdout
    mixed = desk(*words(desk, "--quoted-newlines"))
    assert mixed.exit_code == 2 and "other settings" in mixed.stderr
    options = {"private": desk.folder / "quoted", "neighbouring": "add-remove", "n_teachers": None}
    told = json.loads(desk.fit("--json", **options).stdout)
    assert WELL_FORMED in told["privacy"]["assumptions"]
