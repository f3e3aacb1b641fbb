"""The hosts' tokens as the control host reads them from the shared folders."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.check.fact import HostSpec, fact
from clusterwright.check.facts.shared_tokens import shared_tokens
from clusterwright.onhost.lib.safe_reader import parse_document


def _arguments(spec: HostSpec) -> Sequence[str]:
    return ("read", spec.host.name, *(folder.path for folder in spec.cluster.storage.values()))


@fact(_arguments, probe="shared", depends_on=shared_tokens, limit_s=15)
def shared_folder_visibility(out: str) -> dict[str, dict[str, str]]:
    """Token by folder and host, as the control host reads it; it deletes the files that it reads."""
    return {
        path: {str(host): str(token) for host, token in tokens.items()}
        for path, tokens in parse_document(out).items()
    }
