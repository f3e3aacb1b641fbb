"""A file that the host writes into every shared folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact


@dataclass(frozen=True, slots=True)
class Token:
    """The token that the host left in one folder, or why it could not: `ENOSPC: No space left on device`."""

    token: str
    error: str


def _arguments(spec: HostSpec) -> Sequence[str]:
    return ("write", spec.host.name, *(folder.path for folder in spec.cluster.storage.values()))


@fact(
    _arguments, probe="shared", limit_s=10
)  # a healthy NFS server answers in milliseconds, one that recovers in seconds
def shared_tokens(out: str) -> dict[str, Token]:
    """By folder: the token written there, with its data synced, or the error."""
    return {path: Token(str(entry["token"]), str(entry["error"])) for path, entry in json.loads(out).items()}
