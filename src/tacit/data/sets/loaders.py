"""Small real data sets, each file checked against its SHA-256 before anything reads it.

A file is looked for in the folder named by ``TACIT_DATA_DIR``, then in the user's cache folder.
Where its public source is known, it is downloaded to the cache the first time; the checksum is
verified before the file gets its name there. Files without a source have to be put in place.

These data are public. They stand in for private records in examples, tests and measurements.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.client
import os
import sys
import tempfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tacit.errors import DataUnavailable
from tacit.validation import one_of

if TYPE_CHECKING:
    from pandas import DataFrame
    from scipy.sparse import csr_matrix

__all__ = [
    "REGISTRY",
    "DataFile",
    "Labelled",
    "TrainTest",
    "cache_dir",
    "data_file",
    "load_a9a",
    "load_adult",
    "load_mnist",
    "load_mushrooms",
    "load_newsgroups",
    "load_votes",
]

_T = TypeVar("_T")
_TIMEOUT_SECONDS = 60
_LARGEST_DOWNLOAD = 1 << 28

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_UCI_ADULT = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"


@dataclass(frozen=True)
class DataFile:
    """What is known about one file.

    Parameters
    ----------
    sha256 : str
        Checksum of the file as stored.
    content_sha256 : str or None
        Checksum of the decompressed bytes. A file that was compressed by another program has
        another ``sha256`` but the same content, and is accepted.
    url : str or None
        Public source of the same bytes, or None where there is none.
    url_is_plain : bool
        Whether the source serves the content uncompressed; it is then stored as ``.bz2``.
    """

    sha256: str
    content_sha256: str | None = None
    url: str | None = None
    url_is_plain: bool = False


REGISTRY: dict[str, DataFile] = {
    "mushrooms.bz2": DataFile(
        "a039b9f09528a5dcfb76e0e3d32eb29b10aa6852485d90fc79cc8dffd3f192e2",
        "f39a4eb628dc61a7d43760815b061c9e497aa728ce1ad8bde57a09ef6043b538",
        _LIBSVM + "mushrooms",
        url_is_plain=True,
    ),
    "a9a.bz2": DataFile(
        "1dcb2b4aedea0b5a9e964192dd211675d16cf05ab6477ddd0702d87c1d1af8da",
        "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
        _LIBSVM + "a9a",
        url_is_plain=True,
    ),
    "a9a.t.bz2": DataFile(
        "e55725b53c3c47f7053bd3ef12e41555539eac4c0fe989e69345cc4dd0ea6e8d",
        "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
        _LIBSVM + "a9a.t",
        url_is_plain=True,
    ),
    "adult.data.bz2": DataFile(
        "c1d56183a7321d3e2e1b3c91df6b7665a4161e7dadeb26fdef28313f5305bdc6",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        _UCI_ADULT + "adult.data",
        url_is_plain=True,
    ),
    "adult.test.bz2": DataFile(
        "822b0f708ffe3bfc5ea141f8775584a1e44c0fb940a392b1869d09139b5b32b5",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        _UCI_ADULT + "adult.test",
        url_is_plain=True,
    ),
    "mnist/train-images-idx3-ubyte.gz": DataFile(
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        url=_MNIST + "train-images-idx3-ubyte.gz",
    ),
    "mnist/train-labels-idx1-ubyte.gz": DataFile(
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        url=_MNIST + "train-labels-idx1-ubyte.gz",
    ),
    "mnist/t10k-images-idx3-ubyte.gz": DataFile(
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        url=_MNIST + "t10k-images-idx3-ubyte.gz",
    ),
    "mnist/t10k-labels-idx1-ubyte.gz": DataFile(
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        url=_MNIST + "t10k-labels-idx1-ubyte.gz",
    ),
    "votes/mnist_250_teachers.npy": DataFile(
        "da4832fc6613b515a54918d4fa32fdeffca4e8330f576d77a273fa1ecdd0a423"
    ),
    "votes/svhn_250_teachers.npy": DataFile(
        "96b6497af4304283e666b7e963c8f4b86ef3355b34b2d6f9b250666d8d9dde3f"
    ),
    "votes/adult_250_teachers.npy": DataFile(
        "0b725d5d95b476f71f3ba74fcc879fc4a92e1d73690d2eabbf7645358ef15174"
    ),
    "20news_train_bow.svm.bz2": DataFile(
        "8f71150943dc0993f737a3fb0c5360bb012446caa4fe16dbbddabc1a38586901",
        "0e96b10544e6941462b0b33d6d05dbe09a75428f00a571990a6b21a8c3fed564",
    ),
    "20news_test_bow.svm.bz2": DataFile(
        "48b3ec89dc7db1731790bc09c19809f7e3a4f93a29b352574f270f24e31a346f",
        "b18f77340ae61077fce3af9a6e7ced800cfe82a61c4b4a443b8e37d5beb60b43",
    ),
}
"""Every file the loaders read."""


# ---- finding a file -------------------------------------------------------------------------


def cache_dir() -> Path:
    """Return the folder in which downloaded files are kept; it may not exist yet."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "tacit"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tacit"
    if os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "tacit" / "Cache"
    return Path.home() / ".cache" / "tacit"


def data_file(name: str, *, download: bool = True) -> Path:
    """Return the path of a registered file whose checksum was verified just now.

    Parameters
    ----------
    name : str
        A key of ``REGISTRY``, for example ``"a9a.bz2"``.
    download : bool
        Whether a file with a public source may be fetched when it is nowhere on this machine.

    Raises
    ------
    DataUnavailable
        The file is missing, damaged, or could not be fetched. The message names the file, the
        places looked at and the next step.
    """
    entry = REGISTRY[one_of(REGISTRY, name=name)]
    directory = os.environ.get("TACIT_DATA_DIR")
    if directory and (path := Path(directory) / name).is_file():
        if _matches(path.read_bytes(), entry):
            return path
        raise DataUnavailable(
            f"Data file {name!r} at {path} is damaged: its SHA-256 is not the registered "
            f"{entry.sha256}. Replace or remove it."
        )
    cached = cache_dir() / name
    if cached.is_file() and _matches(cached.read_bytes(), entry):
        return cached
    if entry.url is None or not download:
        raise _nowhere(name, directory, cached, entry)
    _write_whole(cached, _fetched(name, entry, entry.url, cached))
    return cached


def _nowhere(name: str, directory: str | None, cached: Path, entry: DataFile) -> DataUnavailable:
    looked = (
        f"{Path(directory) / name} and {cached}"
        if directory
        else f"{cached} (TACIT_DATA_DIR is unset)"
    )
    state = "damaged" if cached.is_file() else "not on this machine"
    return DataUnavailable(
        f"Data file {name!r} is {state}: looked at {looked}. Put the file with SHA-256 "
        f"{entry.sha256} there, or set TACIT_DATA_DIR to a folder that holds it."
    )


def _matches(stored: bytes, entry: DataFile) -> bool:
    if hashlib.sha256(stored).hexdigest() == entry.sha256:
        return True
    if entry.content_sha256 is None:
        return False
    try:
        content = bz2.decompress(stored)
    except (OSError, ValueError):
        return False
    return hashlib.sha256(content).hexdigest() == entry.content_sha256


def _fetched(name: str, entry: DataFile, url: str, target: Path) -> bytes:
    """Return the bytes to store, downloaded and verified."""
    packed = ", compressed with bzip2," if entry.url_is_plain else ""
    next_step = f"Fetch {url} by hand and put it{packed} in TACIT_DATA_DIR as {name!r}."
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as answer:
            received: bytes = answer.read(_LARGEST_DOWNLOAD)
    except (OSError, http.client.HTTPException) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataUnavailable(
            f"Data file {name!r} is not on this machine (looked at {target}) and could not be "
            f"downloaded: {reason}. {next_step}"
        ) from error
    stored = bz2.compress(received) if entry.url_is_plain else received
    if not _matches(stored, entry):
        raise DataUnavailable(
            f"Data file {name!r} was downloaded from {url} but its SHA-256 is not the "
            f"registered one; nothing was kept. {next_step}"
        )
    return stored


def _write_whole(target: Path, stored: bytes) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name + ".")
    except OSError as error:
        raise DataUnavailable(
            f"Cannot write to {target.parent}: {error.strerror}. Set XDG_CACHE_HOME to a folder "
            "of your own."
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(stored)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


# ---- reading it -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Labelled:
    """Examples and their labels, one row of ``X`` for each entry of ``y``."""

    X: Any
    y: npt.NDArray[np.int64]

    def __repr__(self) -> str:
        """Show shapes, not contents."""
        return f"Labelled(X: {self.X.shape}, y: {self.y.shape})"


@dataclass(frozen=True, eq=False)
class TrainTest(Generic[_T]):
    """The two parts of a data set as its authors divided it."""

    train: _T
    test: _T


def _svmlight(name: str, n_features: int) -> Labelled:
    from sklearn.datasets import load_svmlight_file

    X: csr_matrix
    X, y = load_svmlight_file(str(data_file(name)), n_features=n_features)
    return Labelled(X, y.astype(np.int64))


def load_mushrooms() -> Labelled:
    """Return LIBSVM ``mushrooms``: 8,124 x 112 (sparse), labels 1 (poisonous) and 2 (edible)."""
    return _svmlight("mushrooms.bz2", 112)


def load_a9a() -> TrainTest[Labelled]:
    """Return LIBSVM ``a9a``: 32,561 + 16,281 rows x 123 (sparse), labels -1 and +1 (above 50K)."""
    return TrainTest(_svmlight("a9a.bz2", 123), _svmlight("a9a.t.bz2", 123))


def load_newsgroups() -> TrainTest[Labelled]:
    """Return word counts of 20 Newsgroups: 11,314 + 7,532 rows x 20,958 (sparse), labels 0 to 19.

    The words were chosen by looking at all rows, training and test, without privacy accounting:
    state this next to every privacy statement about results on these data.
    """
    return TrainTest(
        _svmlight("20news_train_bow.svm.bz2", 20958), _svmlight("20news_test_bow.svm.bz2", 20958)
    )


ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
"""Column names of the frames returned by :func:`load_adult`."""


def load_adult() -> TrainTest[DataFrame]:
    """Return UCI Adult as two pandas frames, 32,561 and 16,281 rows.

    Missing values are NaN; the dot that ends each label of the test file is removed, so
    ``income`` is ``"<=50K"`` or ``">50K"`` in both.
    """
    import pandas

    def read(name: str, skiprows: int) -> DataFrame:
        frame = pandas.read_csv(
            data_file(name),
            header=None,
            names=list(ADULT_COLUMNS),
            skiprows=skiprows,
            skipinitialspace=True,
            na_values="?",
        )
        frame["income"] = frame["income"].str.rstrip(".")
        return frame

    return TrainTest(read("adult.data.bz2", 0), read("adult.test.bz2", 1))


def load_mnist() -> TrainTest[Labelled]:
    """Return MNIST: 60,000 + 10,000 images of 28 x 28 bytes, labels 0 to 9."""

    def read(prefix: str) -> Labelled:
        images = gzip.decompress(data_file(f"mnist/{prefix}-images-idx3-ubyte.gz").read_bytes())
        labels = gzip.decompress(data_file(f"mnist/{prefix}-labels-idx1-ubyte.gz").read_bytes())
        X = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28)
        return Labelled(X, np.frombuffer(labels, np.uint8, offset=8).astype(np.int64))

    return TrainTest(read("train"), read("t10k"))


def load_votes(name: str) -> npt.NDArray[np.int64]:
    """Return the published votes of 250 teachers: one row per query, one column per class.

    Parameters
    ----------
    name : str
        ``"mnist"`` (9,000 x 10), ``"svhn"`` (26,032 x 10) or ``"adult"`` (16,281 x 2).

    References
    ----------
    Papernot et al., Scalable Private Learning with PATE, 2018: votes published by the authors.
    """
    one_of(("adult", "mnist", "svhn"), name=name)
    votes = np.load(data_file(f"votes/{name}_250_teachers.npy"), allow_pickle=False)
    return np.asarray(votes, dtype=np.int64)
