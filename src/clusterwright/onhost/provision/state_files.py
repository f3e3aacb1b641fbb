"""The kinds of documents that applies store on a host, each with its schema version.

Standard library only, Python 3.6 or later. A new schema raises the number here, adds the migration from the one
before, and a file of the old one to tests/data/formats.
"""

from typing import Any

from clusterwright.onhost.lib.versioned import Json, Kind


def _all(values: Any, kind: type) -> bool:
    items = values.values() if isinstance(values, dict) else values if isinstance(values, list) else [None]
    return all(isinstance(item, kind) for item in items)


def is_receipt(document: Json) -> bool:
    """Return True if a document has the fields and types of a receipt, the record that an apply leaves on the host.

    A missing field may raise KeyError; `Kind.parse` takes that for damage as well.
    """
    readers, digests = document.get("readers", {}), document.get("wanted", {})
    return (
        isinstance(document["files"], dict)
        and isinstance(document["units"], list)
        and isinstance(readers, dict)
        and isinstance(digests, dict)
        and _all(document["files"], dict)
        and _all(document["units"], str)
        and all(_all(row["restart_on"], str) and isinstance(row["reload"], bool) for row in readers.values())
        and _all(digests, str)
    )


RECEIPT = Kind(1, is_receipt)
JOURNAL = Kind(1, lambda line: isinstance(line["begin"], str))  # its first line; the others have no version
UNDO = Kind(1, lambda about: isinstance(about["when"], str) and is_receipt(about["receipt"]))
RECORDS = Kind(1, lambda rows: all(_all(rows.get(name, []), list) for name in ("accounts", "reservations")))
REBOOT = Kind(1, lambda note: isinstance(note["boot"], str) and _all(note["for"], str))
