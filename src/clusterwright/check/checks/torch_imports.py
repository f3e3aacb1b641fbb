"""Torch can be imported where jobs run."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, expect, most_common
from clusterwright.check.fact import is_compute
from clusterwright.check.facts.torch_import import Torch, torch_import
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster


@check(
    torch_import,
    together=True,
    when=is_compute,
    mend="run `PYTHON -c 'import torch'` on the host; the environment has to be the same on all of them",
)
def torch_imports(cluster: Cluster, have: Mapping[str, Torch]) -> list[Verdict]:
    """The Python of the cluster file imports torch on every compute host, everywhere in the same version."""
    sound = {host: str(each) for host, each in have.items() if not each.error}
    usual = most_common(sound, cluster.control.name) if sound else "torch"
    want = f"{usual}, equal everywhere, in {cluster.software.python}"
    return [expect(str(each) == usual, saw=str(each), want=want, subject=host) for host, each in have.items()]
