"""The source archive and the wheel hold what they should, and the wheel works on its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build both archives from a copy of the sources, without a network."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, copy)
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignore)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(copy / "dist")]
    result = subprocess.run([*command, str(copy)], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return copy / "dist"


def members_of_wheel(built: Path) -> list[str]:
    (wheel,) = built.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_holds_the_package_its_types_and_its_licence(built: Path) -> None:
    names = members_of_wheel(built)
    assert "tacit/py.typed" in names
    assert "tacit/errors.py" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_holds_every_module(built: Path) -> None:
    modules = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert modules <= set(members_of_wheel(built))


def test_the_wheel_holds_the_files_of_the_service_page(built: Path) -> None:
    folder = ROOT / "src" / "tacit" / "service"
    files = [path for part in ("static", "templates") for path in (folder / part).iterdir()]
    assert files
    assert {str(path.relative_to(ROOT / "src")) for path in files} <= set(members_of_wheel(built))


def test_the_wheel_holds_nothing_else(built: Path) -> None:
    for name in members_of_wheel(built):
        top, _, rest = name.partition("/")
        assert top == "tacit" or top.endswith(".dist-info"), name
        assert not name.endswith((".bz2", ".gz", ".npy", ".csv", ".pyc")), name
        assert "test_" not in rest, name


def test_the_source_archive_can_be_built_from_and_holds_no_data(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "src/tacit/py.typed"} <= names
    assert not [name for name in names if name.startswith("tests")]
    assert not [name for name in names if name.endswith((".bz2", ".gz", ".npy", ".csv", ".pyc"))]


def test_the_wheel_works_in_an_environment_of_its_own(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)],
        check=True,
        capture_output=True,
    )
    # The dependencies come from the environment that runs the tests, behind the wheel's own files
    # and without that environment's .pth files, which would bring the checkout in.
    show = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", show], check=True, capture_output=True, text=True)
    (Path(site.stdout.strip()) / "parent.pth").write_text(sysconfig.get_path("purelib") + "\n")

    place = subprocess.run(
        [python, "-c", "import tacit; print(tacit.__file__)"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert Path(place.stdout.strip()).is_relative_to(venv)
    version = subprocess.run(
        [venv / "bin" / "tacit", "--version"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert version.stdout.startswith("tacit, version ")
