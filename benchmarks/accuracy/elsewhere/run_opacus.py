"""Train a logistic regression by Opacus' DP-SGD: ``run_opacus.py FOLDER``, its own interpreter.

The noise multiplier is given: it was calibrated for replace-one neighbours, while Opacus' own
accountants are for add-remove. Batches are Poisson samples, as its engine draws them.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, Dataset


class Records(Dataset):
    """Batches travel as positions: tensors are cut once per batch, not once per record."""

    def __init__(self, X: Any, y: Any) -> None:
        self.X, self.y = X, y

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, position: int) -> Any:
        return self.X[position], self.y[position]

    def __getitems__(self, positions: list[int]) -> list[int]:
        return positions

    def batch(self, positions: list[int]) -> Any:
        return self.X[positions], self.y[positions]


def train(X: Any, y: Any, task: dict[str, Any]) -> Any:
    """Return the weights: the mean of iterates that the task asks for."""
    torch.manual_seed(task["seed"])
    model: Any = torch.nn.Linear(X.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer: Any = torch.optim.SGD(model.parameters(), lr=task["learning_rate"])
    records = Records(X, y)
    loader: Any = DataLoader(records, batch_size=task["batch"], collate_fn=records.batch)
    if abs(1 / len(loader) - task["sampling_rate"]) > 1e-12:
        raise ValueError("the noise was calibrated for another sampling rate")
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=task["noise_multiplier"],
        max_grad_norm=task["clip"],
    )
    loss, total, batches = torch.nn.BCEWithLogitsLoss(), torch.zeros(X.shape[1]), iter(())
    for factor, counts in zip(task["factors"], task["counts"], strict=True):
        drawn = next(batches, None)
        if drawn is None:
            batches = iter(loader)
            drawn = next(batches)
        points, labels = drawn
        optimizer.param_groups[0]["lr"] = task["learning_rate"] * factor
        optimizer.zero_grad()
        loss(model(points).ravel(), labels).backward()
        optimizer.step()
        total += counts * model._module.weight.detach().ravel()
    return total


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    tasks = json.loads((folder / "task.json").read_text())
    with np.load(folder / "arrays.npz") as arrays:
        X = torch.tensor(arrays["private"], dtype=torch.float32)
        y = torch.tensor(arrays["labels"], dtype=torch.float32)
        test = torch.tensor(arrays["test"], dtype=torch.float32)
    answers = {
        f"task{number}": (test @ train(X, y, task) > 0).numpy().astype(int)
        for number, task in enumerate(tasks)
    }
    np.savez(folder / "answer.npz", **answers)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
