"""Shared folders are the same file system on all hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clusterwright.check.expectation import check, expect, fault, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.shared_folder_visibility import shared_folder_visibility
from clusterwright.check.facts.shared_tokens import Token, shared_tokens
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import N_, _

_FIX = N_("run `findmnt PATH` on the host: it shows another server, another export, or no mount")


def _has_storage(spec: HostSpec) -> bool:
    return bool(spec.cluster.storage)


@check(
    (shared_tokens, shared_folder_visibility), cluster_wide=True, when=_has_storage, fix=_FIX, in_jobs=True
)
def shared_folders(
    cluster: Cluster,
    have: Mapping[str, dict[str, Token]],
    control_tokens: Mapping[str, dict[str, dict[str, str]]],
) -> Iterator[Verdict]:
    """Every host can write to every shared folder, and the control host reads what it wrote."""
    ((control, tokens_by_path),) = control_tokens.items()
    for host, tokens in have.items():
        for name, folder in cluster.storage.items():
            token = tokens.get(folder.path, Token("", _("not tested")))
            yield _verdict(
                host,
                folder.path,
                token,
                tokens_by_path.get(folder.path, {}).get(host),
                _("{host} reads the file that this host wrote to {path} (storage.{name})").format(
                    host=control, path=folder.path, name=name
                ),
            )


def _verdict(host: str, path: str, token: Token, control_token: str | None, expected: str) -> Verdict:
    if token.error.startswith(("EACCES", "EPERM")):
        return unknown(
            _("{path}: root cannot write ({error}), probably by root_squash", path=path, error=token.error),
            expected=expected,
            subject=host,
            part=path,
        )
    if token.error:
        return fault(observed=f"{path}: {token.error}", expected=expected, subject=host, part=path)
    is_match = control_token == token.token
    observed = (
        _("{path} is shared", path=path)
        if is_match
        else _(
            "{path} on this host is not the shared file system: the test file "
            ".wright-check-{host} in it was not found elsewhere, and stays",
            path=path,
            host=host,
        )
    )
    return expect(is_match, observed=observed, expected=expected, subject=host, part=path)
