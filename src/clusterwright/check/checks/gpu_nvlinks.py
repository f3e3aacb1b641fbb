"""The NVLinks are up."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import Want
from clusterwright.check.facts.nvlinks import nvlinks
from clusterwright.check.of_gpus import has_nvlink
from clusterwright.check.verdict import Verdict


@check(
    nvlinks,
    when=has_nvlink,
    on=("deploy", "periodic", "burn-in", "boot"),
    mend="drain the host and reset all its GPUs; with NVSwitch restart nvidia-fabricmanager first; then repair",
)
def gpu_nvlinks(want: Want, have: dict[str, tuple[bool, ...]]) -> Iterator[Verdict]:
    """Every NVLink of every GPU is active, and every GPU has as many as the others."""
    most = max(len(links) for links in have.values())
    wanted = f"{most or 'some'} links on each GPU, all active (nodes.{want.host.group_name}.gpus.nvlink)"
    found = []
    for gpu, links in have.items():
        down = [str(number) for number, active in enumerate(links) if not active]
        if down:
            saw = f"GPU {gpu}: {len(down)} of {len(links)} links inactive ({', '.join(down)})"
            found.append(fault(saw=saw, want=wanted, part=f"gpu {gpu}"))
        elif len(links) < most or not links:
            found.append(fault(saw=f"GPU {gpu} has {len(links)} links", want=wanted, part=f"gpu {gpu}"))
    yield from found or [fine(saw=f"{most} links active on each of {len(have)} GPUs", want=wanted)]
