"""What all tests share: requirements that may be missing, hypothesis settings, a floor."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from tests.support.postgres import PostgresServer, programs

pytest_plugins = ["pytester"]

# Scripts that tests start in interpreters of their own import `tests.support`, too.
_ROOT = str(Path(__file__).resolve().parents[1])
_PATH = os.environ.get("PYTHONPATH", "").split(os.pathsep)
if _ROOT not in _PATH:
    os.environ["PYTHONPATH"] = os.pathsep.join([_ROOT, *filter(None, _PATH)])

FLOOR = 3500
"""A full run that sees fewer tests than this fails: tests that never run protect nothing."""

hypothesis.settings.register_profile("tacit", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None, print_blob=True)
# The same examples every time; outside CI, HYPOTHESIS_PROFILE=explore asks for new ones.
hypothesis.settings.load_profile(
    "tacit" if os.environ.get("CI") else os.environ.get("HYPOTHESIS_PROFILE", "tacit")
)


# ---- requirements ---------------------------------------------------------------------------


def _data() -> str | None:
    folder = os.environ.get("TACIT_DATA_DIR")
    if not folder:
        return "TACIT_DATA_DIR is not set"
    return None if Path(folder).is_dir() else "TACIT_DATA_DIR is not a folder"


def _chromium() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return None if any(map(shutil.which, names)) else "no Chromium on the path"


def _postgres() -> str | None:
    for module in ("sqlalchemy", "psycopg"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
    return None if programs() else "PostgreSQL is not installed: its initdb was not found"


def _module(name: str) -> Callable[[], str | None]:
    return lambda: None if importlib.util.find_spec(name) else f"{name} is not installed"


REQUIREMENTS: dict[str, Callable[[], str | None]] = {
    "chromium": _chromium,
    "dask": _module("dask"),
    "data": _data,
    "lightgbm": _module("lightgbm"),
    "pandas": _module("pandas"),
    "postgres": _postgres,
    "ray": _module("ray"),
    "skorch": _module("skorch"),
    "torch": _module("torch"),
    "xgboost": _module("xgboost"),
}
"""For each name a test may need: why it is missing here, or None."""


def _required() -> set[str]:
    names = {name.strip() for name in os.environ.get("TACIT_REQUIRE", "").split(",")} - {""}
    unknown = names - set(REQUIREMENTS)
    if unknown:
        raise pytest.UsageError(
            f"TACIT_REQUIRE names {sorted(unknown)}; known are {sorted(REQUIREMENTS)}."
        )
    return names


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a misspelt TACIT_REQUIRE before anything runs."""
    _required()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose requirement is missing, or fail it where TACIT_REQUIRE insists."""
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            if name not in REQUIREMENTS:
                pytest.fail(f"needs({name!r}): known are {sorted(REQUIREMENTS)}.", pytrace=False)
            missing = REQUIREMENTS[name]()
            if missing and name in _required():
                pytest.fail(f"TACIT_REQUIRE asks for {name}, but {missing}.", pytrace=False)
            if missing:
                pytest.skip(f"needs {name}: {missing}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end what was skipped and why."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("skipped")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count:5d}  {reason}")


# ---- the floor ------------------------------------------------------------------------------


class Floor:
    """Counts the tests that reported and fails a full run that saw too few."""

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.seen: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the test, whichever worker ran it."""
        self.seen.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Turn success into failure when the full run was too small."""
        if exitstatus == pytest.ExitCode.OK and len(self.seen) < self.floor:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say so."""
        if len(self.seen) < self.floor:
            terminalreporter.write_line(
                f"floor: {len(self.seen)} tests reported, at least {self.floor} are expected.",
                red=True,
            )


def _full_run(config: pytest.Config) -> bool:
    options = ("file_or_dir", "keyword", "markexpr", "deselect", "lf", "collectonly", "maxfail")
    return not any(config.getoption(name, None) for name in options)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Watch the floor on full runs, in the process that sees all reports."""
    if _full_run(session.config) and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Floor(FLOOR), "tacit-floor")


# ---- fixtures -------------------------------------------------------------------------------


@pytest.fixture
def data_dir() -> Path:
    """Return the folder of real data sets; the test must carry ``needs("data")``."""
    return Path(os.environ["TACIT_DATA_DIR"])


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Return a running PostgreSQL; the test must carry ``needs("postgres")``."""
    with PostgresServer() as server:
        yield server


_SCHEMAS = itertools.count()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> str:
    """Return the URL of an empty place for a ledger."""
    return postgres_server.create_schema(f"test_{next(_SCHEMAS)}")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    """Return a headless Chromium with a profile of its own; needs("chromium")."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service as Driver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("chromium-browser") or ""
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1100,1500",
    ):  # fmt: skip
        options.add_argument(flag)
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("needs chromedriver")
    made = webdriver.Chrome(options=options, service=Driver(driver))
    made.implicitly_wait(60)  # a click returns before the page it leads to is there
    yield made
    made.quit()
