"""GPUs are joined as the file says."""

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
    fix="drain the host; see gpu_nvlinks for a link that is down; restart nvidia-fabricmanager, reset the GPUs",
)
def gpu_joined(spec: HostSpec, have: dict[int, dict[int, str]]) -> Iterator[Verdict]:
    """Where the file says NVLink, each GPU reaches as many others by NVLink as any other GPU does.

    A bridge of two GPUs joins each with one; NVSwitch joins each with all. How many links there are, and which is
    down, is gpu_nvlinks' to say.
    """
    joined = {gpu: sum(link.startswith("NV") for link in links.values()) for gpu, links in have.items()}
    if not any(have.values()):
        yield skip(_("one GPU alone is joined with nobody"))
        return
    most = max(joined.values())
    expected = _(
        "NVLink from each GPU to {most} (nodes.{group_name}.gpus.nvlink)",
        most=most or "others",
        group_name=spec.host.group_name,
    )
    faults = [
        fault(
            observed=_("GPU {gpu}: {link_summary}", gpu=gpu, link_summary=_link_summary(have[gpu])),
            expected=expected,
            part=_("gpu {gpu}", gpu=gpu),
        )
        for gpu, peer_count in joined.items()
        if peer_count < most or not most
    ]
    yield from faults or [
        fine(
            observed=_("{count} GPUs, each joined by NVLink with {most}", count=len(joined), most=most),
            expected=expected,
        )
    ]


def _link_summary(links: dict[int, str]) -> str:
    return ", ".join(_("{link} to GPU {peer}", link=link, peer=peer) for peer, link in links.items())
