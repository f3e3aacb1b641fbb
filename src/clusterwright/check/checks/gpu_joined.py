"""GPUs are joined as the file says."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import Want
from clusterwright.check.facts.gpu_topology import gpu_topology
from clusterwright.check.verdict import Verdict


def _has_links(want: Want) -> bool:
    gpus = want.host.group.gpus
    return gpus is not None and gpus.nvlink and gpus.count > 1


@check(
    gpu_topology,
    when=_has_links,
    on=("deploy", "periodic", "burn-in"),
    mend="drain the host; see gpu_nvlinks for a link that is down; restart nvidia-fabricmanager, reset the GPUs",
)
def gpu_joined(want: Want, have: dict[int, dict[int, str]]) -> Iterator[Verdict]:
    """Where the file says NVLink, each GPU reaches as many others by NVLink as any other GPU does.

    A bridge of two GPUs joins each with one; NVSwitch joins each with all. How many links there are, and which is
    down, is gpu_nvlinks' to say.
    """
    joined = {gpu: sum(way.startswith("NV") for way in ways.values()) for gpu, ways in have.items()}
    if not any(have.values()):
        yield skip("one GPU alone is joined with nobody")
        return
    most = max(joined.values())
    wanted = f"NVLink from each GPU to {most or 'others'} (nodes.{want.host.group_name}.gpus.nvlink)"
    faults = [
        fault(saw=f"GPU {gpu}: {_said(have[gpu])}", want=wanted, part=f"gpu {gpu}")
        for gpu, others in joined.items()
        if others < most or not most
    ]
    yield from faults or [fine(saw=f"{len(joined)} GPUs, each joined by NVLink with {most}", want=wanted)]


def _said(ways: dict[int, str]) -> str:
    return ", ".join(f"{way} to GPU {other}" for other, way in ways.items())
