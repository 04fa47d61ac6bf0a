"""A saved oracle: private files, one account, and answers that go on where they stopped."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit import Budget, PrivateOracle, load_oracle, open_ledger, save_oracle
from tacit.errors import (
    BudgetExceeded,
    DamagedFile,
    ExposedFiles,
    InvalidArgument,
    LedgerError,
    PersistenceError,
    SavedFormatError,
)
from tacit.estimators.oracle.estimate import ESTIMATE
from tacit.mechanisms import GaussianVote
from tacit.persistence import oracle as saved_module

CLEAR = np.array([[3.0, 2.0], [-2.0, -3.0], [1.5, 4.0]])
Fit = Callable[..., PrivateOracle]


@pytest.fixture
def fit() -> Fit:
    """Return a function that fits an oracle on a small task."""

    def _fit(**settings: Any) -> PrivateOracle:
        X = np.random.default_rng(1).normal(size=(900, 2))
        y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
        given = {"epsilon": 20.0, "delta": 1e-4, "classes": ["no", "yes"], "n_teachers": 120}
        return PrivateOracle(LogisticRegression(), **{**given, **settings}).fit(X, y)

    return _fit


def test_a_loaded_oracle_answers_and_remembers(fit: Fit, tmp_path: Path) -> None:
    save_oracle(fit(mechanism="gaussian", n_questions=3), tmp_path / "flu")
    first = load_oracle(tmp_path / "flu")
    answers = first.ask(CLEAR).tolist()
    assert answers == ["yes", "no", "yes"]
    first.close()
    again = load_oracle(tmp_path / "flu")
    assert again.ask(CLEAR).tolist() == answers
    assert again.budget_left().left == 0
    with pytest.raises(BudgetExceeded):
        again.ask([[8.0, 8.0]])
    assert again.privacy_.epsilon <= 20.0
    assert again.privacy_.assumptions == first.privacy_.assumptions
    again.close()


def test_files_are_for_their_owner_alone(fit: Fit, tmp_path: Path) -> None:
    folder = tmp_path / "flu"
    save_oracle(fit(), folder)
    load_oracle(folder).close()
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    for name in ("ORACLE", "ledger.sqlite", "teachers", "."):
        path = folder / name
        mode = path.stat().st_mode
        path.chmod(mode | 0o040)
        with pytest.raises(ExposedFiles, match="chmod"):
            load_oracle(folder)
        path.chmod(mode)


def test_the_saved_oracle_hands_its_account_over(fit: Fit, tmp_path: Path) -> None:
    oracle = fit()
    save_oracle(oracle, tmp_path / "flu")
    with pytest.raises(LedgerError, match="load_oracle"):
        oracle.ask(CLEAR)
    with pytest.raises(LedgerError):
        save_oracle(oracle, tmp_path / "twice")


def test_answers_given_from_memory_cannot_be_saved(fit: Fit, tmp_path: Path) -> None:
    oracle = fit()
    oracle.ask(CLEAR)
    with pytest.raises(LedgerError, match="ledger="):
        save_oracle(oracle, tmp_path / "flu")
    assert not (tmp_path / "flu").exists()


def test_a_question_that_is_being_answered_is_not_forgotten(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saving waits for it, and is then refused: it was answered from an account in memory."""
    oracle, asked, may_go_on = fit(), threading.Event(), threading.Event()
    source = oracle.private_source()
    count = source.count

    def slowly(*args: Any) -> Any:
        asked.set()
        assert may_go_on.wait(60)
        return count(*args)

    monkeypatch.setattr(source, "count", slowly)
    with ThreadPoolExecutor(2) as threads:
        answer = threads.submit(oracle.ask, CLEAR[:1])
        assert asked.wait(60)
        saving = threads.submit(save_oracle, oracle, tmp_path / "o")
        may_go_on.set()
        assert len(answer.result(60)) == 1
        with pytest.raises(LedgerError, match="ledger="):
            saving.result(60)
    assert not (tmp_path / "o").exists()
    assert len(oracle.ask(CLEAR[1:2])) == 1


def test_a_question_that_comes_while_the_oracle_is_saved_is_refused(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle, saving, may_go_on = fit(), threading.Event(), threading.Event()
    write = saved_module.save_ensemble

    def slowly(*args: Any) -> Any:
        saving.set()
        assert may_go_on.wait(60)
        return write(*args)

    monkeypatch.setattr(saved_module, "save_ensemble", slowly)
    with ThreadPoolExecutor(2) as threads:
        saved = threads.submit(save_oracle, oracle, tmp_path / "o")
        assert saving.wait(60)
        answer = threads.submit(oracle.ask, CLEAR[:1])
        may_go_on.set()
        saved.result(60)
        with pytest.raises(LedgerError, match="was saved"):
            answer.result(60)
    again = load_oracle(tmp_path / "o")
    assert again.tally().answered == 0
    again.close()


def test_an_account_elsewhere_is_the_only_one_accepted(fit: Fit, tmp_path: Path) -> None:
    own, other = tmp_path / "own.sqlite", tmp_path / "other.sqlite"
    for path in (own, other):
        open_ledger(path, budget=Budget(50.0, 1e-3)).close()
    oracle = fit(ledger=own)
    before = oracle.ask(CLEAR).tolist()
    save_oracle(oracle, tmp_path / "flu")
    assert oracle.ask(CLEAR).tolist() == before  # a ledger in a file may have two users
    with pytest.raises(LedgerError, match="not in its directory"):
        load_oracle(tmp_path / "flu")
    with pytest.raises(LedgerError, match="not the one"):
        load_oracle(tmp_path / "flu", ledger=other)
    again = load_oracle(tmp_path / "flu", ledger=own)
    assert again.ask(CLEAR).tolist() == before
    assert not (tmp_path / "flu" / "ledger.sqlite").exists()


def test_the_first_loading_chooses_where_the_account_is(fit: Fit, tmp_path: Path) -> None:
    save_oracle(fit(), tmp_path / "flu")
    chosen = tmp_path / "chosen.sqlite"
    load_oracle(tmp_path / "flu", ledger=f"sqlite:///{chosen}").close()
    assert open_ledger(chosen).budget == Budget(20.0, 1e-4)
    with pytest.raises(LedgerError, match="not in its directory"):
        load_oracle(tmp_path / "flu")
    load_oracle(tmp_path / "flu", ledger=chosen).close()


def test_a_lost_ledger_is_not_made_anew(fit: Fit, tmp_path: Path) -> None:
    save_oracle(fit(), tmp_path / "flu")
    load_oracle(tmp_path / "flu").close()
    for path in (tmp_path / "flu").glob("ledger.sqlite*"):
        path.unlink()
    with pytest.raises(LedgerError, match="account"):
        load_oracle(tmp_path / "flu")


def test_an_estimate_moves_with_the_account(fit: Fit, tmp_path: Path) -> None:
    oracle = fit(cutoff="estimate")
    terms = oracle.terms_
    save_oracle(oracle, tmp_path / "flu")
    again = load_oracle(tmp_path / "flu")
    assert again.terms_ == terms
    ledger = again.opened().ledger
    plan = ledger.find_plan(terms.estimate_key)
    assert plan is not None and len(ledger.recorded(plan, [ESTIMATE])) == 1
    assert 19 < ledger.reserved().epsilon <= 20.0
    ledger.verify()
    again.close()


def test_terms_and_points_come_back_as_they_were(fit: Fit, tmp_path: Path) -> None:
    vote = GaussianVote(9.0, answers=7)
    oracle = fit(mechanism=vote)
    save_oracle(oracle, tmp_path / "flu")
    again = load_oracle(tmp_path / "flu")
    assert again.terms_ == oracle.terms_ and again.terms_.mechanism == vote
    assert again.classes_.tolist() == ["no", "yes"]
    with pytest.raises(InvalidArgument, match="2 columns"):
        again.ask([[1.0]])
    again.close()


def test_damage_and_strange_folders_are_told_apart(fit: Fit, tmp_path: Path) -> None:
    save_oracle(fit(), tmp_path / "flu")
    with pytest.raises(InvalidArgument, match="must not exist"):
        save_oracle(fit(), tmp_path / "flu")
    with pytest.raises(PersistenceError, match="no directory"):
        load_oracle(tmp_path / "nothing")
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o700)
    with pytest.raises(SavedFormatError, match="not saved by tacit"):
        load_oracle(empty)
    told = tmp_path / "flu" / "ORACLE"
    whole = told.read_bytes()
    told.write_bytes(whole.replace(b'"delta": 0.0001', b'"delta": 0.0002'))
    with pytest.raises(DamagedFile, match="checksum"):
        load_oracle(tmp_path / "flu")
    told.write_bytes(whole.replace(b"format=1", b"format=9"))
    with pytest.raises(SavedFormatError, match="format 9"):
        load_oracle(tmp_path / "flu")


def test_nothing_private_is_in_the_terms(fit: Fit, tmp_path: Path) -> None:
    save_oracle(fit(), tmp_path / "flu")
    line = (tmp_path / "flu" / "ORACLE").read_bytes().split(b"\n", 1)[1]
    told = json.loads(line)
    assert set(told) == {"format_version", "tacit", "terms", "points", "estimate", "ledger"}


def test_a_disk_that_refuses_leaves_nothing(
    fit: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle = fit()

    def refuse(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(PersistenceError, match="No space"):
        save_oracle(oracle, tmp_path / "flu")
    assert list(tmp_path.iterdir()) == []
    assert oracle.ask(CLEAR).tolist() == ["yes", "no", "yes"]  # it kept its account
