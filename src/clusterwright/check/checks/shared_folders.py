"""The shared folders are the same everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, expect, fault, unknown
from clusterwright.check.fact import Want
from clusterwright.check.facts.shared_seen import shared_seen
from clusterwright.check.facts.shared_tokens import Token, shared_tokens
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster

_MEND = "see `findmnt` of the path on the host: another server, another export, or nothing mounted at all"


def _has_storage(want: Want) -> bool:
    return bool(want.cluster.storage)


@check((shared_tokens, shared_seen), together=True, when=_has_storage, mend=_MEND)
def shared_folders(
    cluster: Cluster, have: Mapping[str, dict[str, Token]], seen: Mapping[str, dict[str, dict[str, str]]]
) -> Iterator[Verdict]:
    """Every host can write to every shared folder, and what it writes the control host reads there."""
    ((control, found),) = seen.items()
    for host, tokens in have.items():
        for name, folder in cluster.storage.items():
            token = tokens.get(folder.path, Token("", "not tried"))
            yield _verdict(
                host, folder.path, token, found.get(folder.path, {}).get(host), f"{control} (storage.{name})"
            )


def _verdict(host: str, path: str, token: Token, seen: str | None, control: str) -> Verdict:
    want = f"a file written to {path} is seen on {control}"
    if token.error.startswith(("EACCES", "EPERM")):
        return unknown(
            f"{path}: root may not write there ({token.error}); root_squash?",
            want=want,
            subject=host,
            part=path,
        )
    if token.error:
        return fault(saw=f"{path}: {token.error}", want=want, subject=host, part=path)
    same = seen == token.token
    saw = (
        f"{path} is the same"
        if same
        else f"{path} is another folder there; it keeps a file .wright-check-{host}"
    )
    return expect(same, saw=saw, want=want, subject=host, part=path)
