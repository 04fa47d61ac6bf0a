"""Missing requirements are skipped aloud, or fail where they are insisted on; the floor holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py").read_text()


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A tiny suite with the same conftest: one plain test, one that needs data."""
    monkeypatch.delenv("TACIT_DATA_DIR", raising=False)
    monkeypatch.delenv("TACIT_REQUIRE", raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers = needs(*names): x\naddopts = -p no:cacheprovider\n")
    pytester.makepyfile(
        """
        import pytest

        def test_plain():
            pass

        @pytest.mark.needs("data")
        def test_with_data(data_dir):
            assert data_dir.is_dir()
        """
    )
    return pytester


def test_a_missing_requirement_is_skipped_and_listed(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess()
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*skipped*", "*1  needs data: TACIT_DATA_DIR is not set"])


def test_reasons_come_back_from_workers(suite: pytest.Pytester) -> None:
    result = suite.runpytest_subprocess("-n", "1")
    result.stdout.fnmatch_lines(["*1  needs data: TACIT_DATA_DIR is not set"])


def test_a_requirement_insisted_on_fails(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_REQUIRE", "data")
    result = suite.runpytest_subprocess()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*TACIT_REQUIRE asks for data*"])


def test_a_requirement_that_is_met_runs(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_REQUIRE", "data")
    monkeypatch.setenv("TACIT_DATA_DIR", str(suite.path))
    suite.runpytest_subprocess().assert_outcomes(passed=2)


def test_a_misspelt_requirement_is_refused(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_REQUIRE", "dta")
    result = suite.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*TACIT_REQUIRE names*dta*"])


def test_a_misspelt_need_fails(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_other="import pytest\n@pytest.mark.needs('dta')\ndef test_x(): pass\n")
    suite.runpytest_subprocess("test_other.py").assert_outcomes(errors=1)


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_a_full_run_below_the_floor_fails(suite: pytest.Pytester, workers: list[str]) -> None:
    suite.makeconftest(re.sub(r"^FLOOR = \d+$", "FLOOR = 3", CONFTEST, flags=re.MULTILINE))
    result = suite.runpytest_subprocess(*workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["floor: 2 tests reported, at least 3 are expected."])


@pytest.mark.parametrize("part", [["-k", "plain"], ["test_a_run_of_a_part_has_no_floor.py"]])
def test_a_run_of_a_part_has_no_floor(suite: pytest.Pytester, part: list[str]) -> None:
    suite.makeconftest(re.sub(r"^FLOOR = \d+$", "FLOOR = 3", CONFTEST, flags=re.MULTILINE))
    assert suite.runpytest_subprocess(*part).ret == pytest.ExitCode.OK
