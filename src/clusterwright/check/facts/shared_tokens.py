"""A test file with a token in every shared folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class Token:
    """The token that the host wrote into one folder, or the error: `ENOSPC: No space left on device`."""

    token: str
    error: str


def _arguments(spec: HostSpec) -> Sequence[str]:
    return ("write", spec.host.name, *(folder.path for folder in spec.cluster.storage.values()))


# A healthy NFS server answers in milliseconds, one that recovers in seconds.
@fact(_arguments, probe="shared", limit_s=10)
def shared_tokens(out: str) -> dict[str, Token]:
    """The token that the host wrote to each shared folder (with fsync), or the error."""
    return {
        path: Token(str(entry["token"]), str(entry["error"])) for path, entry in parse_document(out).items()
    }
