"""Ask workers behind one address whether they are ready, as a load balancer would."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable

PATIENCE = 60  # seconds after which a worker counts as stuck
IN_A_ROW = 4  # replies over as many connections: several workers take them in turn


class Readiness:
    """What ``/readyz`` says at a port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port

    def status(self) -> int:
        """Return the status of one reply; 0 if there was none."""
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            line.request("GET", "/readyz")
            return line.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0
        finally:
            line.close()

    def all_say(self, status: int) -> bool:
        """Return whether every worker says the same now."""
        return all(self.status() == status for _ in range(IN_A_ROW))

    def until_one_says(self, status: int, *, going_on: Callable[[], bool]) -> bool:
        """Wait until a worker says so, while something goes on; return whether one did."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and going_on():
            if self.status() == status:
                return True
            time.sleep(0.005)
        return False

    def until_all_say(self, status: int) -> bool:
        """Wait until every worker says so; return whether they do."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self.all_say(status):
                return True
            time.sleep(0.02)
        return False
