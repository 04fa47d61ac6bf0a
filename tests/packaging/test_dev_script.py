"""./dev finds Python, makes .venv once, repairs it, and says in one line what is missing.

The script runs in a copy of the checkout's skeleton with a stand-in for ``python -m pip`` that
only writes down how it was called, so nothing is installed and no network is used.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASE = os.path.realpath(sys.executable)

PIP = '''\
"""Stand-in for pip: notes its arguments; FAKE_PIP=fail|die makes it fail or be killed."""
import os, pathlib, signal, sys, time
arguments = sys.argv[1:]
if arguments != ["--version"]:
    with open(os.environ["PIP_NOTES"], "a") as notes:
        notes.write(" ".join(arguments) + "\\n")
    time.sleep(float(os.environ.get("FAKE_PIP_SECONDS", "0")))
    if os.environ.get("FAKE_PIP") == "fail":
        sys.exit("ERROR: no such package")
    if os.environ.get("FAKE_PIP") == "die":
        os.killpg(0, signal.SIGKILL)
    if "--editable" in arguments:
        tacit = pathlib.Path(sys.executable).with_name("tacit")
        tacit.write_text("#!/bin/sh\\necho tacit ran: $*\\n")
        tacit.chmod(0o755)
'''


class Checkout:
    """A copy of what ./dev needs, and ways to run it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a checkout"  # the space is on purpose
        self.bin = folder / "bin"
        self.notes = folder / "notes"
        (self.folder / "requirements").mkdir(parents=True)
        self.bin.mkdir()
        for name in ("core", "test", "dev"):
            (self.folder / "requirements" / f"{name}.txt").write_text(f"{name}==1\n")
        shutil.copy(ROOT / "dev", self.folder)
        shutil.copy(ROOT / "pyproject.toml", self.folder)
        for tool in ("sh", "dirname", "cat", "rm", "env", "find"):
            (self.bin / tool).symlink_to(str(shutil.which(tool)))
        self.python = self.interpreter("python3.11")

    def interpreter(self, name: str) -> Path:
        """Put a Python on the path whose environments hold the stand-in for pip."""
        path = self.bin / name
        pip = self.bin.parent / "pip.py"
        pip.write_text(PIP)
        path.write_text(
            "#!/bin/sh\n"
            'if [ "$1 $2" = "-m venv" ]; then\n'
            f'    "{BASE}" -m venv --without-pip "$3" || exit 1\n'
            '    site=$(echo "$3"/lib/python*/site-packages)\n'
            f'    cat "{pip}" >"$site/pip.py"\n'
            "    exit 0\n"
            "fi\n"
            f'exec "{BASE}" "$@"\n'
        )
        path.chmod(0o755)
        return path

    def popen(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.folder / "dev"), *arguments],
            env={"PATH": str(self.bin), "PIP_NOTES": str(self.notes), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        process = self.popen(*arguments, **environment)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def pip_calls(self) -> list[str]:
        """Return the pip calls since the last time."""
        calls = self.notes.read_text().splitlines() if self.notes.exists() else []
        self.notes.unlink(missing_ok=True)
        return calls


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_run_installs_the_locked_core_by_hash_and_the_second_nothing(
    checkout: Checkout,
) -> None:
    first = checkout.run("demo", "--fast")
    assert first.returncode == 0, first.stderr
    assert first.stdout == "tacit ran: demo --fast\n"
    core, package = checkout.pip_calls()
    assert "--require-hashes" in core
    assert core.endswith("requirements/core.txt")
    assert "--no-deps" in package
    assert "--no-index" in package

    second = checkout.run("demo")
    assert (second.returncode, second.stdout, second.stderr) == (0, "tacit ran: demo\n", "")
    assert checkout.pip_calls() == []


def test_a_changed_lock_makes_a_new_environment(checkout: Checkout) -> None:
    checkout.run("demo")
    (checkout.folder / ".venv" / "left-over").touch()
    (checkout.folder / "requirements" / "core.txt").write_text("core==2\n")
    assert checkout.run("demo").returncode == 0
    assert not (checkout.folder / ".venv" / "left-over").exists()


def test_a_changed_project_file_installs_only_the_package_again(checkout: Checkout) -> None:
    checkout.run("demo")
    checkout.pip_calls()
    with (checkout.folder / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    checkout.run("demo")
    (call,) = checkout.pip_calls()
    assert "--editable" in call


def test_a_higher_level_adds_to_the_environment(checkout: Checkout) -> None:
    checkout.run("demo")
    checkout.pip_calls()
    checkout.run("licences")  # needs the dev level; the script it runs is not in this copy
    assert [call.rpartition("/")[2] for call in checkout.pip_calls()] == ["test.txt", "dev.txt"]
    checkout.run("demo")
    assert checkout.pip_calls() == []


def test_a_moved_checkout_makes_a_new_environment(checkout: Checkout) -> None:
    checkout.run("demo")
    checkout.pip_calls()
    checkout.folder = checkout.folder.rename(checkout.folder.with_name("moved"))
    assert checkout.run("demo").returncode == 0
    assert len(checkout.pip_calls()) == 2


@pytest.mark.parametrize("damage", ["missing", "unrunnable", "no stamp"])
def test_a_broken_environment_is_made_again(checkout: Checkout, damage: str) -> None:
    checkout.run("demo")
    checkout.pip_calls()
    venv = checkout.folder / ".venv"
    if damage == "no stamp":
        (venv / "tacit-core").unlink()
    else:
        (venv / "bin" / "python").unlink()
    if damage == "unrunnable":
        (venv / "bin" / "python").write_text("#!/nonexistent\n")
        (venv / "bin" / "python").chmod(0o755)
    result = checkout.run("demo")
    assert (result.returncode, result.stdout) == (0, "tacit ran: demo\n"), result.stderr
    assert len(checkout.pip_calls()) == 2


def test_a_run_killed_while_installing_is_made_good_by_the_next(checkout: Checkout) -> None:
    assert checkout.run("demo", FAKE_PIP="die").returncode != 0
    assert (checkout.folder / ".venv" / "tacit-busy").exists()
    assert checkout.run("demo").stdout == "tacit ran: demo\n"
    assert not (checkout.folder / ".venv" / "tacit-busy").exists()


def test_what_pip_said_is_shown_when_it_fails_and_nothing_runs(checkout: Checkout) -> None:
    result = checkout.run("demo", FAKE_PIP="fail")
    assert result.returncode == 1
    assert "ERROR: no such package" in result.stderr
    assert result.stdout == ""
    assert checkout.run("demo").returncode == 0


def test_two_runs_at_once_install_once(checkout: Checkout) -> None:
    runs = [checkout.popen("demo", FAKE_PIP_SECONDS="0.5") for _ in range(2)]
    outputs = [run.communicate(timeout=60) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], outputs
    assert [out for out, _ in outputs] == ["tacit ran: demo\n"] * 2
    assert len(checkout.pip_calls()) == 2


def test_python_names_the_interpreter(checkout: Checkout, tmp_path: Path) -> None:
    chosen = checkout.python.rename(tmp_path / "chosen")
    assert checkout.run("demo", PYTHON=str(chosen)).returncode == 0


@pytest.mark.parametrize("body", ["exit 127", "exit 1"])
def test_a_python_that_does_not_run_is_refused_in_one_line(checkout: Checkout, body: str) -> None:
    bad = checkout.bin / "bad"
    bad.write_text(f"#!/bin/sh\n{body}\n")
    bad.chmod(0o755)
    result = checkout.run("demo", PYTHON=str(bad))
    assert result.returncode == 1
    assert result.stderr == f"dev: PYTHON={bad} is not a working Python 3.11 or newer.\n"


def test_a_shim_that_cannot_run_is_passed_over(checkout: Checkout) -> None:
    shim = checkout.bin / "python3.13"
    shim.write_text("#!/bin/sh\necho 'python3.13: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    assert checkout.run("demo").returncode == 0


def test_no_python_at_all_is_one_line(checkout: Checkout) -> None:
    checkout.python.unlink()
    result = checkout.run("demo")
    assert result.returncode == 1
    assert result.stderr.startswith("dev: no working Python 3.11 or newer found: install one")
    assert result.stderr.count("\n") == 1
    assert not (checkout.folder / ".venv").exists()


def test_no_way_to_make_an_environment_is_one_line(checkout: Checkout) -> None:
    text = checkout.python.read_text().replace("--without-pip", "--nonsense")
    checkout.python.write_text(text)
    result = checkout.run("demo")
    assert result.returncode == 1
    assert "cannot make a virtual environment: install" in result.stderr.splitlines()[-1]
    assert not (checkout.folder / ".venv").exists()


def test_an_unknown_verb_is_refused(checkout: Checkout) -> None:
    result = checkout.run("nonsense")
    assert result.returncode == 1
    assert result.stderr.endswith("dev: unknown verb: nonsense\n")


def test_the_makefile_offers_every_verb_of_the_script(checkout: Checkout) -> None:
    usage = checkout.run("help").stdout
    verbs = {line.split()[0] for line in usage.splitlines() if line.startswith("  ")}
    makefile = (ROOT / "Makefile").read_text()
    (line,) = [line for line in makefile.splitlines() if line.startswith("VERBS")]
    assert set(line.split()[2:]) == verbs
