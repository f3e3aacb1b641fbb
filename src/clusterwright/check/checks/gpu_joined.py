"""NVLink connects the GPUs as declared."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpu_topology import gpu_topology
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


def _has_links(spec: HostSpec) -> bool:
    gpus = spec.host.group.gpus
    return gpus is not None and gpus.nvlink and gpus.count > 1


@check(
    gpu_topology,
    when=_has_links,
    on=("deploy", "periodic", "burn-in"),
    fix="drain the host, restart nvidia-fabricmanager and reset the GPUs; gpu_nvlinks names links that are down",
    in_jobs=True,
)
def gpu_joined(spec: HostSpec, have: dict[int, dict[int, str]]) -> Iterator[Verdict]:
    """Where NVLink is declared, each GPU reaches the same number of other GPUs by NVLink.

    A bridge connects each GPU with one other, NVSwitch with all. The check gpu_nvlinks counts the links and names
    those that are down.
    """
    joined = {gpu: sum(link.startswith("NV") for link in links.values()) for gpu, links in have.items()}
    if not any(have.values()):
        yield skip(_("the host has only one GPU, so NVLink has nothing to connect"))
        return
    most = max(joined.values())
    expected = _(
        "NVLink from each GPU to {count} other GPUs (nodes.{group}.gpus.nvlink)",
        count=most or "1+",
        group=spec.host.group_name,
    )
    faults = [
        fault(
            observed=_("GPU {gpu}: {links}", gpu=gpu, links=_link_summary(have[gpu])),
            expected=expected,
            part=f"gpu {gpu}",
        )
        for gpu, peer_count in joined.items()
        if peer_count < most or not most
    ]
    yield from faults or [
        fine(
            observed=_("each of {count} GPUs has NVLink to {most} other GPUs", count=len(joined), most=most),
            expected=expected,
        )
    ]


def _link_summary(links: dict[int, str]) -> str:
    return ", ".join(_("{link} to GPU {peer}", link=link, peer=peer) for peer, link in links.items())
