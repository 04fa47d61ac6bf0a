"""One client process: puts questions to the service until it is spent, and keeps a journal.

Every byte received is written down before it is looked at: the checks compare journals with the
ledger. Nothing but the standard library, so that many start quickly.

    python tests/service/clients.py PORT KEY POINTS JOURNAL
"""

from __future__ import annotations

import http.client
import json
import sys

STOP_AFTER = 12
"""Questions refused in a row after which the budget is taken to be gone in every worker."""


def main(port: int, key: str, points: str, journal: str) -> None:
    spent = 0
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with open(points, encoding="utf-8") as file:
        asked = json.load(file)
    with open(journal, "a", encoding="utf-8") as file:
        for point in asked:
            # A connection each: the system spreads them over the workers.
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("POST", "/v1/answers", json.dumps({"point": point}), headers)
                found = connection.getresponse()
                status, text = found.status, found.read().decode()
            except (OSError, http.client.HTTPException) as error:
                status, text = 0, type(error).__name__  # a worker was killed: nothing came back
            file.write(json.dumps([point, status, text]) + "\n")
            file.flush()
            connection.close()
            spent = spent + 1 if status == 403 else 0
            if spent >= STOP_AFTER:
                return


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4])
