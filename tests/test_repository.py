"""What holds for every file in the repository."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tacit

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))

# Written in pieces, so that this file passes its own test.
MACHINE_PATHS = re.compile(r"/(?:work|root|home|Users)/" + r"\w")
REGISTRY_HOSTS = re.compile(
    "|".join([r"pypi\." + "org", "python" + "hosted", r"conda\." + "anaconda"])
)
SHARED = ".." + "/shared"


def tracked() -> list[Path]:
    """Return the files of the repository, or of the folder where there is no git."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def mentions(pattern: str | re.Pattern[str], allowed: tuple[str, ...] = ()) -> list[str]:
    """Return the lines of tracked text files that match."""
    found = []
    for path in tracked():
        name = path.relative_to(ROOT).as_posix()
        if name in allowed:
            continue
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        found += [f"{name}:{n}" for n, line in enumerate(lines, 1) if re.search(pattern, line)]
    return found


def test_no_file_names_a_place_on_one_machine() -> None:
    assert mentions(MACHINE_PATHS) == []


def test_no_file_names_a_package_registry() -> None:
    assert mentions(REGISTRY_HOSTS) == []


def test_only_the_ci_script_knows_a_folder_outside_the_checkout() -> None:
    assert mentions(re.escape(SHARED), allowed=(".ci/run",)) == []


def test_no_large_file_is_tracked() -> None:
    large = [str(path) for path in tracked() if path.stat().st_size > 500_000]
    assert large == []


def modules() -> list[Path]:
    """Return every module of the package."""
    return sorted((ROOT / "src").rglob("*.py"))


def test_every_module_says_what_it_is() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in modules()}
    silent = [str(path) for path, text in texts.items() if not ast.get_docstring(ast.parse(text))]
    assert silent == []


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in modules()}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_readme_gives_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert re.search(r"^    make demo\b", readme, flags=re.MULTILINE)
    assert re.search(r"^    make test\b", readme, flags=re.MULTILINE)


def test_the_version_is_the_same_everywhere() -> None:
    assert f"({tacit.__version__})" in (ROOT / "README.md").read_text()
    assert f"\nversion: {tacit.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==([^ ;\\]+)", path.read_text(), flags=re.MULTILINE))


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_locks_hold_pins_and_hashes_and_no_address(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"://|--index|--extra-index|--find-links|--trusted-host| @ |^-e", text)
    for block in re.split(r"\n(?=[\w.-]+==)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        assert re.match(r"[\w.-]+==", block), block
        assert "--hash=sha256:" in block, block


def test_each_lock_contains_the_one_below_it() -> None:
    core, test, dev = (pins(ROOT / "requirements" / f"{n}.txt") for n in ("core", "test", "dev"))
    assert core.items() <= test.items() <= dev.items()


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_no_lock_brings_pytorch_or_cuda(path: Path) -> None:
    assert not [n for n in pins(path) if re.match(r"torch|nvidia|cuda|triton|xgboost$", n)]


def test_every_locked_package_has_its_licence_listed() -> None:
    page = (ROOT / "docs" / "licences.md").read_text()
    for name, version in pins(ROOT / "requirements" / "dev.txt").items():
        assert f"| {name} | {version} |" in page


def test_every_package_has_a_page_in_the_reference() -> None:
    pages = {page.stem for page in (ROOT / "docs" / "reference").glob("*.md")}
    packages = {
        path.parent.name
        for path in (ROOT / "src" / "tacit").glob("*/*.py")
        if path.name != "__init__.py"
    }
    assert packages - pages == {"cli"}, "write docs/reference/<package>.md like the others"


def test_the_readme_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    rng = np.random.default_rng(0)
    given = {"X_private": rng.normal(size=(600, 2)), "X_pool": rng.normal(size=(40, 2))}
    given["y_private"] = (given["X_private"][:, 0] > 0).astype(int)
    given["X"] = given["X_pool"]
    for code in blocks:
        exec(compile(code, "README.md", "exec"), dict(given))
    printed = capsys.readouterr().out
    assert printed.startswith("Privacy statement")
    assert re.search(r"^\[[01], [01]\]$", printed, flags=re.MULTILINE)


def test_the_readme_lists_every_extra_once() -> None:
    extras = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    )
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"^\| (`[^|]*`) \|", readme.partition("| extra |")[2], re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`([a-z]+)`", row)]
    assert sorted(listed) == sorted(extras)


def test_install_commands_work_in_a_checkout() -> None:
    assert mentions(r"pip install '?tacit" + r"\b") == []
