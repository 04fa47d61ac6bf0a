"""What requests and responses look like, for people and for OpenAPI."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from tacit.data import Layout, PointReader


class LabelAnswer(BaseModel):
    """A label, or a refusal. Every answer takes the same number of bytes."""

    label: str | int | float | bool | None = Field(description="One of the classes; null: refused.")
    refused: bool


class Answers(BaseModel):
    """Answers in the order of the points."""

    answers: list[LabelAnswer]
    complete: bool = Field(
        description="False when the budget ended within the request: "
        "only the first points were answered."
    )


class Charge(BaseModel):
    """One kind of charge of the plan."""

    event: str
    used: int
    most: int


class Guarantee(BaseModel):
    """An (epsilon, delta) guarantee."""

    epsilon: float
    delta: float


class AnalystUsage(BaseModel):
    """What an analyst was shown. A reading: the guarantee is against all analysts together."""

    name: str
    answered: int
    refused: int
    charged: int = Field(description="Charges in the present period, also for cached answers.")
    allowance: int | None = Field(description="Charges allowed in a period; null: no limit.")
    renews_in: int | None = Field(description="Seconds; null: never.")


class BudgetState(BaseModel):
    """What is promised and how much of it is used."""

    guarantee: Guarantee = Field(description="Of everything this oracle may answer; reserved.")
    lifetime: Guarantee = Field(description="Of the data set, over everything on its ledger.")
    charges: list[Charge]
    left: int = Field(description="Charges that are sure to fit.")
    answered: int
    refused: int
    analyst: AnalystUsage


class Statement(BaseModel):
    """The privacy statement: against all analysts together."""

    text: str
    epsilon: float
    delta: float
    spent_epsilon: float
    neighbouring: str
    unit: str
    mechanism: str
    accountant: str
    questions: int
    assumptions: list[str]
    secure: bool


class State(BaseModel):
    """Whether the service works."""

    status: str


PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "Problem details (RFC 9457). `type` tells kinds of problems apart.",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}


def ask_schema(reader: PointReader, *, most: int) -> dict[str, Any]:
    """Return the JSON schema of a request, for points of this form."""
    point = point_schema(reader)
    return {
        "oneOf": [
            {
                "type": "object",
                "required": ["points"],
                "additionalProperties": False,
                "properties": {
                    "points": {"type": "array", "minItems": 1, "maxItems": most, "items": point}
                },
            },
            {
                "type": "object",
                "required": ["point"],
                "additionalProperties": False,
                "properties": {"point": point},
            },
        ]
    }


def point_schema(reader: PointReader) -> dict[str, Any]:
    """Return the JSON schema of one point."""
    if reader.schema.layout is Layout.TEXTS:
        return {"type": "string"}
    number = {"type": "number", "minimum": -1.7e308, "maximum": 1.7e308}
    numbers = reader.schema.layout is Layout.NUMBERS
    cell: dict[str, Any] = {"type": ["string", "number", "boolean", "null"]}
    if numbers:
        cell = {**number, "type": ["number", "null"]} if reader.missing else number
    row = {
        "type": "array",
        "minItems": reader.schema.width,
        "maxItems": reader.schema.width,
        "items": cell,
    }
    names = reader.schema.feature_names
    if names is None:
        return row
    named = {
        "type": "object",
        "required": list(names),
        "additionalProperties": False,
        "properties": {name: cell for name in names},
    }
    return {"oneOf": [row, named]}
