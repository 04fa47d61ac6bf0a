"""Structured logs: one JSON object a line, without points, labels, keys or addresses."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

LOGGER = logging.getLogger("tacit.service")


class JsonLines(logging.Formatter):
    """Writes a record and its ``fields`` as JSON. Tracebacks stay out: they may quote anything."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        fields: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage() if record.name == LOGGER.name else record.name,
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            fields["error"] = record.exc_info[0].__name__
        return json.dumps(fields, default=str)


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with public fields."""
    LOGGER.log(level, event, extra={"fields": fields})


def set_up(level: str = "info") -> None:
    """Send the service's log, and the server's, to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in (LOGGER.name, "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    # The server's own messages hold addresses of clients; only the kind of its errors is logged.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.access").handlers = []
    logging.getLogger("uvicorn.access").propagate = False
