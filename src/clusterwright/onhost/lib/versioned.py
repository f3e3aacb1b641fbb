"""Read JSON documents of ours that outlive a version: each names its schema, is validated, and is set aside if damaged.

Standard library only, Python 3.6 or later. A document without `schema` is of version 1, the last that did not write it.
tests/data/formats has a file of every version.
"""

import json
import os
import time
from typing import Any, Callable, Dict, Sequence, Union

from clusterwright.onhost.lib.files import rename
from clusterwright.onhost.lib.safe_reader import parse_object

Json = Dict[str, Any]
Path = Union[str, "os.PathLike[str]"]
FIRST = 1


class NewerSchema(Exception):  # noqa: N818 (a property of a file, not a program error)
    """A newer version of Clusterwright wrote the document."""


class Damaged(Exception):  # noqa: N818 (a property of a file, not a program error)
    """The document is truncated, or is not one of its kind."""


class Kind:
    """One kind of document: its present schema, the test for a valid one, and the migration from each older schema."""

    def __init__(
        self, schema: int, is_valid: Callable[[Json], bool], migrations: Sequence[Callable[[Json], Json]] = ()
    ) -> None:
        self.schema, self._is_valid, self._migrations = schema, is_valid, migrations

    def parse(self, data: Union[bytes, str], path: Path) -> Json:
        """Return a parsed and validated document, migrated to the present schema.

        Raises:
            NewerSchema: a newer version wrote it.
            Damaged: it is truncated, or not of this kind; the message has the path.
        """
        document = parse_object(data)
        schema = document.get("schema", FIRST)
        if isinstance(schema, int) and schema > self.schema:
            raise NewerSchema(
                "%s has schema %d, of a newer version; this version reads %d" % (path, schema, self.schema)
            )
        try:
            for migrate in self._migrations[schema - FIRST :]:
                document = migrate(document)
            is_valid = bool(document) and schema >= FIRST and self._is_valid(document)
        except (KeyError, TypeError, ValueError, AttributeError):
            is_valid = False
        if not is_valid:
            raise Damaged("%s is damaged" % path)
        return document

    def dump(self, document: Json) -> str:
        """Return a document as JSON text with the number of the present schema."""
        return json.dumps(dict(document, schema=self.schema))


def set_aside(path: Path) -> str:
    """Rename a damaged file, so that nothing of it is lost, and return its new path."""
    new_path = "%s.damaged-%s-%s" % (os.fspath(path), time.strftime("%Y%m%d-%H%M%S"), os.urandom(2).hex())
    rename(path, new_path, durable=True)
    return new_path
