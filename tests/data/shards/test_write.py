"""Files to shards: the same shards as in memory, each record in one file."""

from __future__ import annotations

import pickle
import resource
import stat
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.data import Column, Schema
from tacit.data.identifiers import identifier_bytes, keyed_shards
from tacit.data.shards import ShardFolder, open_shards, parts, verify_shards, write_shards
from tacit.data.shards import storage as stored
from tacit.data.tables import ReadOptions, read_private
from tacit.errors import ExposedFiles, InvalidArgument, PersistenceError, TacitError
from tacit.estimators.inputs import identifiers
from tacit.teachers import hash_split, votes_moved

pytestmark = pytest.mark.needs("pandas")

ODD = (
    "p1,39,f,yes\n"
    "p1.0,50,m,no\n"
    " 7 ,51,f,yes\n"
    "7.0,52,x,yes\n"
    "7\n"
    ",,,\n"
    "NA,one,f,maybe\n"
    "Zoë Ångström,1e400,m,no\n"
    "张伟,44,f,no,too,many\n"
    '"unclosed,9,f,yes\n'
)
KEY = b"sixteen or more bytes"
SCHEMA = Schema((Column("age"), Column("sex", "category", ("f", "m"))))


def in_memory(path: Path, n_shards: int) -> list[Any]:
    """Return the shards that a fit on the same file would use, and their labels."""
    table = read_private(path, SCHEMA, ReadOptions(), label="ill", group="person")
    shard_of = hash_split(identifiers(table.groups, len(table.y)) or [], n_shards, KEY)
    labels = np.array(table.y, dtype=object)
    return [(table.X[shard_of == k], labels[shard_of == k]) for k in range(n_shards)]


def test_shards_are_those_of_hash_split(source: Path, sharded: Any) -> None:
    frame = sharded.records()
    shard_of = hash_split(identifiers(frame["person"], len(frame)) or [], 20, KEY)
    folder = sharded(source)
    assert (folder.n_shards, folder.feature_names, folder.label) == (
        20,
        list(sharded.features),
        "y",
    )
    for number in range(20):
        X, y = folder.read(number)
        np.testing.assert_allclose(X, frame.loc[shard_of == number, list(sharded.features)], 1e-10)
        assert y.tolist() == frame.loc[shard_of == number, "y"].astype(str).tolist()
        assert X.dtype == np.float64
    verify_shards(folder.path)


@pytest.mark.parametrize("piece", [1, 3, 1 << 16])
def test_odd_rows_of_csv_are_read_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(parts, "MOST_ROWS_PER_BATCH", piece)
    path = tmp_path / "patients.csv"
    path.write_text("person,age,sex,ill\n" + ODD)
    folder = write_shards([path], tmp_path / "shards", n_shards=3, identifier="person",
                          label="ill", schema=SCHEMA, key=KEY)  # fmt: skip
    for number, (X, y) in enumerate(in_memory(path, 3)):
        found, labels = folder.read(number)
        assert found.equals(X.reset_index(drop=True))
        assert labels.tolist() == y.tolist()


def test_csv_and_parquet_give_the_same_shards(source: Path, sharded: Any) -> None:
    frame = sharded.records()
    frame.to_csv(source.with_suffix(".csv"), index=False)
    schema = Schema(tuple(Column(name) for name in list(sharded.features)))
    text = sharded(source.with_suffix(".csv"), schema=schema, out="from_csv")
    for left, right in zip(sharded.contents(text), sharded.contents(sharded(source)), strict=True):
        assert left[0] == right[0] and left[2] == right[2]
        assert left[1] == [str(label) for label in right[1]]


_IDS = st.one_of(
    st.integers(-(2**62), 2**62),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
    st.floats(allow_nan=False, width=32).filter(lambda one: one.is_integer()).map(float),
)


@settings(max_examples=60)
@given(st.lists(_IDS, max_size=12), st.integers(1, 50), st.binary(min_size=16, max_size=64))
def test_every_identifier_goes_where_hash_split_sends_it(
    ids: list[Any], n_shards: int, key: bytes
) -> None:
    import pyarrow as pa

    named = identifiers(ids, len(ids)) or []
    expected = hash_split(named, n_shards, key).tolist()
    found = []
    for one in ids:  # an Arrow column holds one type
        codes, different, _ = stored.identifiers(pa.array([one]))
        shards = keyed_shards(map(identifier_bytes, different), n_shards, key)
        found.append(int(shards[codes][0]))
    assert found == expected


def test_one_person_is_one_whatever_type_the_files_have(tmp_path: Path, sharded: Any) -> None:
    frame = sharded.records(300)
    for name, kind in {"whole": "int64", "short": "int32", "float": float, "text": str}.items():
        frame.assign(person=frame["person"].astype(kind)).to_parquet(tmp_path / f"{name}.parquet")
    folder = sharded(*sorted(tmp_path.glob("*.parquet")), n_shards=7)
    verify_shards(folder.path)
    assert sum(len(folder.read(k)[1]) for k in range(7)) == 4 * 300
    for number in range(7):
        ids = folder.read_identifiers(number)
        quarter = len(ids) // 4
        assert ids[:quarter] == ids[quarter : 2 * quarter] == ids[3 * quarter :]


def test_no_identifier_is_in_two_files(source: Path, sharded: Any) -> None:
    folder = sharded(source)
    groups = [set(folder.read_identifiers(k)) for k in range(20)]
    assert sum(map(len, groups)) == len(set.union(*groups))
    assert set.union(*groups) == {str(one) for one in sharded.records()["person"]}


def test_folders_and_several_files_keep_their_order(tmp_path: Path, sharded: Any) -> None:
    frame = sharded.records(900)
    inside = tmp_path / "inside"
    inside.mkdir()
    for number in range(3):
        frame[number * 300 : (number + 1) * 300].to_parquet(inside / f"{number}.parquet")
    (inside / "_SUCCESS").touch()
    frame.to_parquet(tmp_path / "all.parquet")
    one, three = sharded(tmp_path / "all.parquet", out="one"), sharded(inside, out="three")
    assert sharded.contents(one) == sharded.contents(three)
    assert one.fingerprint == three.fingerprint


@pytest.mark.parametrize("piece", [1, 7, 100])
def test_sizes_of_parts_and_windows_change_nothing(
    source: Path, sharded: Any, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    expected = sharded.contents(sharded(source, out="whole"))
    monkeypatch.setattr(parts, "BATCH_BYTES", 200 * 80)
    monkeypatch.setattr(parts, "PART_BYTES", 500 * 80)
    monkeypatch.setattr(parts, "PIECE_BYTES", piece * 80)
    monkeypatch.setattr("tacit.data.shards.merge.WINDOW_BYTES", 300 * 80)
    assert sharded.contents(sharded(source)) == expected


def test_a_second_run_does_nothing_and_the_same_key_gives_the_same_shards(
    source: Path, sharded: Any
) -> None:
    folder = sharded(source)
    before = {one.name: one.stat().st_ino for one in folder.path.iterdir()}
    assert repr(sharded(source)) == repr(folder)
    assert {one.name: one.stat().st_ino for one in folder.path.iterdir()} == before
    assert sharded.contents(sharded(source, out="again")) == sharded.contents(folder)
    assert sharded.contents(
        sharded(source, out="other", key=b"another key of 24 bytes!")
    ) != sharded.contents(folder)


def test_a_drawn_key_is_kept_and_used_again(source: Path, sharded: Any) -> None:
    folder = sharded(source, key=None)
    assert len(bytes.fromhex((folder.path / "key").read_text())) == 32
    sharded(source, key=None)
    verify_shards(folder.path)


def test_a_person_who_leaves_changes_one_shard(
    source: Path, sharded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 400 * 80)
    monkeypatch.setattr(parts, "BATCH_BYTES", 100 * 80)
    before = sharded.contents(sharded(source))
    frame = sharded.records()
    person = int(frame["person"].mode()[0])
    frame[frame["person"] != person].to_parquet(source)
    after = sharded.contents(sharded(source, fresh=True))
    assert [left == right for left, right in zip(before, after, strict=True)].count(False) == 1
    left, right = next(pair for pair in zip(before, after, strict=True) if pair[0] != pair[1])
    assert [one for one in left[2] if one != str(person)] == right[2]


def test_there_may_be_more_shards_than_records(tmp_path: Path, sharded: Any) -> None:
    sharded.records(30)[:0].to_parquet(tmp_path / "none.parquet")
    sharded.records(30)[:3].to_parquet(tmp_path / "few.parquet")
    none = sharded(tmp_path / "none.parquet", out="none")
    few = sharded(tmp_path / "few.parquet", out="few", n_shards=50)
    assert [none.read(k)[0].shape for k in range(20)] == [(0, 3)] * 20
    assert sum(len(few.read(k)[1]) for k in range(50)) == 3
    verify_shards(few.path)


def test_a_missing_or_odd_number_changes_its_own_cell(tmp_path: Path, sharded: Any) -> None:
    frame = sharded.records(60)
    whole = sharded.contents(_from(frame, tmp_path, sharded, "whole"))
    frame.loc[5, "a"], frame.loc[6, "b"] = np.nan, np.inf
    frame["y"] = frame["y"].astype("Int64")
    frame.loc[7, "y"] = None
    odd = _from(frame, tmp_path, sharded, "odd")
    cells = [(X[at], label) for X, y, _ in whole for at, label in enumerate(y)]
    found = [(row, label) for k in range(20) for row, label in zip(*odd.read(k), strict=True)]
    same = sum(a[0] == b[0].tolist() and a[1] == b[1] for a, b in zip(cells, found, strict=True))
    assert same == 57
    assert sum(np.isnan(row).sum() for row, _ in found) == 2
    assert sum(label == "" for _, label in found) == 1


def _from(frame: Any, place: Path, sharded: Any, name: str) -> ShardFolder:
    frame.to_parquet(place / f"{name}.parquet")
    folder: ShardFolder = sharded(place / f"{name}.parquet", out=name)
    return folder


def test_columns_of_any_type_can_be_numbers_or_categories(tmp_path: Path, sharded: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "a": pa.array(["1.5", "x", None]),
            "b": pa.array([True, False, None]),
            "c": pa.array([[1], [2], None]),
            "d": pa.array(["f", "m", "other"]).dictionary_encode(),
            "y": pa.array([b"\xff", b"no", None], type=pa.binary()),
            "person": pa.array([1, 1, 1], type=pa.uint64()),
        }
    )
    pq.write_table(table, tmp_path / "odd.parquet")
    schema = Schema((Column("a"), Column("b"), Column("c"), Column("d", "category", ("f", "m"))))
    folder = sharded(tmp_path / "odd.parquet", schema=schema, n_shards=1)
    X, y = folder.read(0)
    assert X["a"].tolist()[0] == 1.5 and X["b"].tolist()[:2] == [1.0, 0.0]
    assert X.isna().sum().tolist() == [2, 1, 3, 1]
    assert X["d"].cat.categories.tolist() == ["f", "m"]
    assert y.tolist()[2] == ""


def test_hash_shards_go_with_add_remove_alone(source: Path, sharded: Any) -> None:
    how = sharded(source).sharding
    assert votes_moved(how.partition, how.neighbouring) == 1
    with pytest.raises(InvalidArgument, match="move two votes"):
        votes_moved(how.partition, "replace")


# ---- what is private stays inside -------------------------------------------------------------


def test_only_the_owner_can_read_anything(source: Path, sharded: Any) -> None:
    folder = sharded(source)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.path.iterdir()} == {0o600}
    (folder.path / "000003.parquet").chmod(0o640)
    with pytest.raises(ExposedFiles, match="chmod 600"):
        folder.read(3)
    folder.path.chmod(0o750)
    with pytest.raises(ExposedFiles, match="chmod 700"):
        open_shards(folder.path)


def test_nothing_shown_depends_on_the_records(source: Path, sharded: Any) -> None:
    folder = sharded(source)
    shown, names = repr(folder), {one.name for one in folder.path.iterdir()}
    sharded.records(10, seed=1).to_parquet(source)
    again = sharded(source, fresh=True)
    assert (repr(again), again.fingerprint) == (shown, folder.fingerprint)
    assert {one.name for one in again.path.iterdir()} == names


def test_a_folder_that_is_sent_to_a_worker_holds_no_key(source: Path, sharded: Any) -> None:
    folder = sharded(source)
    sent = pickle.dumps(folder)
    assert KEY not in sent and KEY.hex().encode() not in sent
    np.testing.assert_array_equal(pickle.loads(sent).read(4)[0], folder.read(4)[0])


def test_errors_quote_no_cell(tmp_path: Path) -> None:
    path = tmp_path / "headless.csv"
    path.write_text("canary,7919,f,secret\n")
    for changes in ({}, {"identifier": "age"}, {"label": "sex"}):
        asked = {"n_shards": 2, "identifier": "person", "label": "ill", "schema": SCHEMA} | changes
        with pytest.raises(TacitError) as caught:
            write_shards([path], tmp_path / "shards", **asked)  # type: ignore[arg-type]
        assert not any(word in str(caught.value) for word in ("canary", "7919", "secret"))
    assert not (tmp_path / "shards").exists()


# ---- what cannot be used is refused before anything is made -------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"identifier": "nobody"}, "no column 'nobody'"),
        ({"label": "nothing"}, "no column 'nothing'"),
        ({"identifier": "y"}, "different columns"),
        ({"identifier": ""}, "must name a column"),
        ({"n_shards": 0}, "`n_shards` must be"),
        ({"key": b"short"}, "16 to 64 bytes"),
        ({"leave_out": ["a", "b", "c"]}, "must be a feature"),
        ({"schema": Schema((Column("a"), Column("person")))}, "no features"),
    ],
)
def test_bad_settings_are_refused(source: Path, sharded: Any, changes: Any, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        sharded(source, **changes)
    assert not (source.parent / "shards").exists()


def test_bad_sources_are_refused(source: Path, sharded: Any) -> None:
    place = source.parent
    (place / "rows.svm").write_text("1 1:2\n")
    (place / "broken.parquet").write_bytes(source.read_bytes()[:-20])
    (place / "empty").mkdir()
    for given_, said in {
        (): "at least one file",
        (source, source): "given twice",
        (place / "gone.parquet",): "does not exist",
        (place / "rows.svm",): "LIBSVM",
        (place / "broken.parquet",): "not a Parquet file",
        (place / "empty",): "holds no files",
    }.items():
        with pytest.raises(InvalidArgument, match=said):
            sharded(*given_)
    assert not (place / "shards").exists()


def test_the_types_of_private_files_decide_nothing(source: Path, sharded: Any) -> None:
    frame = sharded.records()
    text = frame.astype({"a": str, "y": float, "person": str})
    text.to_parquet(source.parent / "text.parquet")
    frame.to_csv(source.parent / "plain.csv", index=False)
    expected = sharded.contents(sharded(source))
    for name in ("text.parquet", "plain.csv"):
        assert sharded.contents(sharded(source.parent / name, out=f"from-{name}")) == expected


def test_bad_targets_are_refused(source: Path, sharded: Any) -> None:
    with pytest.raises(InvalidArgument, match="There is no folder"):
        sharded(source, out="missing/shards")
    with pytest.raises(InvalidArgument, match="is not a folder"):
        sharded(source, out=source.name)
    other = source.parent / "other"
    other.mkdir(mode=0o700)
    (other / "thesis.txt").touch()
    for fresh in (False, True):
        with pytest.raises(InvalidArgument, match="not empty and holds no shards"):
            sharded(source, out="other", fresh=fresh)
    assert (other / "thesis.txt").exists()


def test_a_full_disk_leaves_no_halves_and_the_same_call_goes_on(
    source: Path, sharded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 500 * 80)
    monkeypatch.setattr(parts, "BATCH_BYTES", 500 * 80)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for most in (100, 10_000, 60_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
        try:
            with pytest.raises(PersistenceError, match="same command again to resume"):
                sharded(source, n_shards=1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert not list((source.parent / "shards").rglob("*.unfinished"))
        with pytest.raises(PersistenceError, match="no finished shards"):
            open_shards(source.parent / "shards")
    assert sharded.contents(sharded(source, n_shards=1)) == sharded.contents(
        sharded(source, n_shards=1, out="whole")
    )


def test_nothing_is_mixed_with_shards_of_something_else(source: Path, sharded: Any) -> None:
    before = sharded.contents(sharded(source))
    for changes in ({"n_shards": 21}, {"key": b"another key of 24 bytes!"}, {"leave_out": ["a"]}):
        with pytest.raises(InvalidArgument, match="other files, other settings or another key"):
            sharded(source, **changes)
    sharded.records(seed=1).to_parquet(source)
    with pytest.raises(InvalidArgument, match="changed since"):
        sharded(source)
    assert sharded.contents(open_shards(source.parent / "shards")) == before
    assert sharded.contents(sharded(source, fresh=True)) != before
