"""What is public about shards in files: how many, of which columns, under which key's name."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from tacit.accounting.budget import Neighbouring
from tacit.data import Schema
from tacit.data.tables.files import WELL_FORMED
from tacit.errors import InvalidArgument, SavedFormatError

FORMAT = "tacit shards"
VERSION = 1


@dataclass(frozen=True)
class Sharding:
    """How records were made into shards. Public.

    Parameters
    ----------
    n_shards : int
    identifier : str
        Column that identifies the person of a record; stored in the shards, and no feature.
    label : str
        Column of the labels.
    schema : Schema
        The features. Public.
    key_id : str
        A public name of the secret key.
    quoted_newlines : bool, default False
        Whether a CSV file was read in which a quoted cell may continue on the next line.

    Examples
    --------
    >>> from tacit.data import Column
    >>> how = Sharding(8, "person", "ill", Schema([Column("age")]), key_id="9f0c")
    >>> how.neighbouring.value
    'add-remove'
    >>> Sharding.from_json(how.to_json()) == how
    True
    """

    n_shards: int
    identifier: str
    label: str
    schema: Schema
    key_id: str
    quoted_newlines: bool = False

    partition = "hash"
    neighbouring = Neighbouring.ADD_REMOVE

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in order."""
        return self.schema.names

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a guarantee rests on for how the records were read, in sentences."""
        return (WELL_FORMED,) if self.quoted_newlines else ()

    @property
    def fingerprint(self) -> str:
        """One name for all of this: equal for equal settings, key and version of the format."""
        return hashlib.sha256(self.to_json()).hexdigest()[:32]

    def to_json(self) -> bytes:
        """Return it as a file's content."""
        fields = {
            "format": FORMAT,
            "version": VERSION,
            "n_shards": self.n_shards,
            "identifier": self.identifier,
            "label": self.label,
            "schema": self.schema.to_dict(),
            "key_id": self.key_id,
            "quoted_newlines": self.quoted_newlines,
        }
        return json.dumps(fields, indent=1).encode() + b"\n"

    @classmethod
    def from_json(cls, content: bytes) -> Sharding:
        """Read what ``to_json`` wrote."""
        try:
            fields = json.loads(content)
            if (fields["format"], fields["version"]) != (FORMAT, VERSION):
                raise SavedFormatError(
                    f"These shards must be of {FORMAT!r}, version {VERSION}; they are of another."
                )
            return cls(
                int(fields["n_shards"]),
                str(fields["identifier"]),
                str(fields["label"]),
                Schema.from_dict(fields["schema"]),
                str(fields["key_id"]),
                bool(fields["quoted_newlines"]),
            )
        except SavedFormatError:
            raise
        except (ValueError, KeyError, TypeError, InvalidArgument):
            raise SavedFormatError("The description of these shards is damaged.") from None
