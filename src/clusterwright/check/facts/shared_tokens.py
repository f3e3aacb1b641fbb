"""A file that the host writes into every shared folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import Want, fact


@dataclass(frozen=True, slots=True)
class Token:
    """The token that the host left in one folder, or why it could not: `ENOSPC: No space left on device`."""

    token: str
    error: str


def _arguments(want: Want) -> Sequence[str]:
    return ("write", want.host.name, *(folder.path for folder in want.cluster.storage.values()))


@fact(
    _arguments, probe="shared", limit_s=10
)  # a healthy NFS server answers in milliseconds, one that recovers in seconds
def shared_tokens(out: str) -> dict[str, Token]:
    """By folder: the token written there, with its data synced, or the error."""
    return {path: Token(str(found["token"]), str(found["error"])) for path, found in json.loads(out).items()}
