"""Torch imports on all compute hosts."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, expect, most_common
from clusterwright.check.fact import is_compute
from clusterwright.check.facts.torch_import import Torch, torch_import
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


@check(
    torch_import,
    cluster_wide=True,
    when=is_compute,
    fix="run `PYTHON -c 'import torch'` on the host; install the same environment on all compute hosts",
)
def torch_imports(cluster: Cluster, have: Mapping[str, Torch]) -> list[Verdict]:
    """The Python of software.python imports torch on every compute host, in the same version."""
    sound = {host: str(torch) for host, torch in have.items() if not torch.error}
    usual = most_common(sound, cluster.control.name) if sound else "torch"
    expected = _("{versions} on all hosts, in {python}", versions=usual, python=cluster.software.python)
    return [
        expect(str(torch) == usual, observed=str(torch), expected=expected, subject=host)
        for host, torch in have.items()
    ]
