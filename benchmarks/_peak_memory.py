"""Run a command and say how much memory each of its processes took at most."""

from __future__ import annotations

import resource
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

EVERY_S = 0.02


def run(command: list[str], **options: Any) -> tuple[float, dict[str, float], str]:
    """Return seconds, the peak of every process in MiB, and what the command printed.

    The kernel keeps each process's peak (``VmHWM``); it is looked at until the process ends.
    """
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    peaks: dict[str, float] = {}
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(EVERY_S):
            for pid in _family(process.pid):
                peaks[f"{_name(pid)} {pid}"] = _peak_mib(pid) or peaks.get(f"{_name(pid)} {pid}", 0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    printed, _ = process.communicate()
    seconds = time.perf_counter() - began
    stop.set()
    watcher.join()
    if process.returncode != 0:
        raise SystemExit(f"ended with status {process.returncode}: {' '.join(command)}")
    # Named by role and number, not by the machine's process number.
    listed = {f"process {at}": peak for at, peak in enumerate(peaks.values()) if peak}
    return seconds, listed, printed


def cpu_seconds() -> float:
    """Return the processor time of all commands that were run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _family(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        try:
            for task in Path(f"/proc/{one}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "gone"


def _peak_mib(pid: int) -> float | None:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    found = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return round(found[0] / 1024, 1) if found else None
