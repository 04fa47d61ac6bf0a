"""Files are found, verified and fetched as the loaders promise."""

from __future__ import annotations

import bz2
import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from tacit.data.sets import loaders
from tacit.errors import DataUnavailable, InvalidArgument

CONTENT = b"+1 1:1 2:3\n-1 3:2\n"
STORED = bz2.compress(CONTENT)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with an empty data folder, an empty cache and one registered file."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("TACIT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    register(monkeypatch)
    return tmp_path


def register(monkeypatch: pytest.MonkeyPatch, source: Path | None = None, plain: bool = False):
    url = source.as_uri() if source else None
    entry = loaders.DataFile(sha256(STORED), sha256(CONTENT), url, plain)
    monkeypatch.setattr(loaders, "REGISTRY", {"tiny.bz2": entry})


def test_the_data_folder_comes_before_the_cache(place: Path) -> None:
    for folder in (place / "data", place / "cache" / "tacit"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tiny.bz2").write_bytes(STORED)
    assert loaders.data_file("tiny.bz2") == place / "data" / "tiny.bz2"


def test_the_cache_is_used_when_the_data_folder_lacks_the_file(place: Path) -> None:
    cached = place / "cache" / "tacit" / "tiny.bz2"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(STORED)
    assert loaders.data_file("tiny.bz2") == cached


def test_the_same_content_compressed_otherwise_is_accepted(place: Path) -> None:
    other = bz2.compress(CONTENT, 1)
    assert other != STORED
    (place / "data" / "tiny.bz2").write_bytes(other)
    assert loaders.data_file("tiny.bz2").read_bytes() == other


@pytest.mark.parametrize("damaged", [STORED[:-3], b"", b"plain", bz2.compress(CONTENT + b"x")])
def test_a_damaged_file_in_the_data_folder_is_refused(place: Path, damaged: bytes) -> None:
    path = place / "data" / "tiny.bz2"
    path.write_bytes(damaged)
    with pytest.raises(DataUnavailable, match="damaged") as caught:
        loaders.data_file("tiny.bz2")
    assert str(path) in str(caught.value)
    assert "Replace" in str(caught.value)


def test_a_missing_file_without_a_source_says_where_to_put_it(place: Path) -> None:
    with pytest.raises(DataUnavailable) as caught:
        loaders.data_file("tiny.bz2")
    message = str(caught.value)
    assert "'tiny.bz2'" in message
    assert str(place / "data") in message
    assert str(place / "cache") in message
    assert "TACIT_DATA_DIR" in message


def test_a_damaged_cache_without_a_source_is_called_damaged(place: Path) -> None:
    cached = place / "cache" / "tacit" / "tiny.bz2"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"half")
    with pytest.raises(DataUnavailable, match="is damaged"):
        loaders.data_file("tiny.bz2")


@pytest.mark.parametrize("plain", [False, True])
def test_a_file_with_a_source_is_fetched_once(
    place: Path, monkeypatch: pytest.MonkeyPatch, plain: bool
) -> None:
    source = place / "source"
    source.write_bytes(CONTENT if plain else STORED)
    register(monkeypatch, source, plain)
    path = loaders.data_file("tiny.bz2")
    assert path == place / "cache" / "tacit" / "tiny.bz2"
    assert bz2.decompress(path.read_bytes()) == CONTENT
    source.unlink()
    assert loaders.data_file("tiny.bz2") == path
    assert [file.name for file in path.parent.iterdir()] == ["tiny.bz2"]


def test_a_damaged_cache_is_fetched_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = place / "source"
    source.write_bytes(STORED)
    register(monkeypatch, source)
    cached = place / "cache" / "tacit" / "tiny.bz2"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"half")
    assert loaders.data_file("tiny.bz2").read_bytes() == STORED


def test_a_wrong_download_is_refused_and_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = place / "source"
    source.write_bytes(b"another file")
    register(monkeypatch, source)
    with pytest.raises(DataUnavailable, match="nothing was kept"):
        loaders.data_file("tiny.bz2")
    assert not (place / "cache").exists()


def test_a_failed_download_says_what_to_do(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, place / "nowhere")
    with pytest.raises(DataUnavailable, match="by hand"):
        loaders.data_file("tiny.bz2")


def test_no_download_when_it_is_not_wanted(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = place / "source"
    source.write_bytes(STORED)
    register(monkeypatch, source)
    with pytest.raises(DataUnavailable, match="not on this machine"):
        loaders.data_file("tiny.bz2", download=False)


def test_an_interrupted_write_leaves_no_part(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = place / "source"
    source.write_bytes(STORED)
    register(monkeypatch, source)

    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(loaders.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loaders.data_file("tiny.bz2")
    assert list((place / "cache" / "tacit").iterdir()) == []


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidArgument, match="mushrooms"):
        loaders.data_file("mushroom")


def test_every_source_is_encrypted_in_transit_and_every_checksum_whole() -> None:
    for known in loaders.REGISTRY.values():
        assert known.url is None or known.url.startswith("https://")
        assert len(known.sha256) == 64
        assert known.content_sha256 is None or len(known.content_sha256) == 64
        assert known.content_sha256 is not None or not known.url_is_plain


def test_mnist_reads_the_idx_layout(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    registry = {}
    (place / "data" / "mnist").mkdir()
    for prefix in ("train", "t10k"):
        for kind, data in (
            ("images-idx3", bytes(16) + images.tobytes()),
            ("labels-idx1", bytes(8) + b"\x07\x01"),
        ):
            name = f"mnist/{prefix}-{kind}-ubyte.gz"
            stored = gzip.compress(data)
            (place / "data" / name).write_bytes(stored)
            registry[name] = loaders.DataFile(sha256(stored))
    monkeypatch.setattr(loaders, "REGISTRY", registry)
    split = loaders.load_mnist()
    assert np.array_equal(split.train.X, images)
    assert split.test.y.tolist() == [7, 1]
    assert repr(split.train) == "Labelled(X: (2, 28, 28), y: (2,))"


@pytest.mark.needs("data")
@pytest.mark.parametrize("name", loaders.REGISTRY)
def test_every_registered_file_is_there_and_whole(name: str, data_dir: Path) -> None:
    assert loaders.data_file(name, download=False) == data_dir / name


@pytest.mark.needs("data")
@pytest.mark.parametrize(
    "name", [n for n, known in loaders.REGISTRY.items() if known.content_sha256]
)
def test_the_content_checksums_are_those_of_the_content(name: str, data_dir: Path) -> None:
    content = bz2.decompress((data_dir / name).read_bytes())
    assert sha256(content) == loaders.REGISTRY[name].content_sha256


@pytest.mark.needs("data")
def test_mushrooms() -> None:
    data = loaders.load_mushrooms()
    assert data.X.shape == (8124, 112)
    assert data.X.nnz == 21 * 8124
    assert np.unique(data.y, return_counts=True)[1].tolist() == [3916, 4208]


@pytest.mark.needs("data")
def test_a9a_has_the_labels_of_adult() -> None:
    a9a, adult = loaders.load_a9a(), loaders.load_adult()
    for vectors, frame in ((a9a.train, adult.train), (a9a.test, adult.test)):
        assert vectors.X.shape == (len(frame), 123)
        assert set(frame["income"]) == {"<=50K", ">50K"}
        assert np.array_equal(vectors.y == 1, frame["income"] == ">50K")
    assert adult.train.isna().any(axis=1).sum() == 2399
    assert adult.test.isna().any(axis=1).sum() == 1221


@pytest.mark.needs("data")
def test_newsgroups() -> None:
    data = loaders.load_newsgroups()
    assert (data.train.X.shape, data.train.X.nnz) == ((11314, 20958), 942133)
    assert (data.test.X.shape, data.test.X.nnz) == ((7532, 20958), 614766)
    assert set(data.train.y) == set(range(20))


@pytest.mark.needs("data")
def test_mnist() -> None:
    data = loaders.load_mnist()
    assert data.train.X.shape == (60000, 28, 28)
    assert np.bincount(data.test.y).tolist() == [
        980,
        1135,
        1032,
        1010,
        982,
        892,
        958,
        1028,
        974,
        1009,
    ]


@pytest.mark.needs("data")
@pytest.mark.parametrize(
    ("name", "shape"), [("mnist", (9000, 10)), ("svhn", (26032, 10)), ("adult", (16281, 2))]
)
def test_votes_are_those_of_250_teachers(name: str, shape: tuple[int, int]) -> None:
    votes = loaders.load_votes(name)
    assert votes.shape == shape
    assert votes.dtype == np.int64
    assert (votes.sum(axis=1) == 250).all()
    assert (votes >= 0).all()


def test_an_unknown_vote_set_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="svhn"):
        loaders.load_votes("cifar")
