"""The NVLinks are up."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.nvlinks import nvlinks
from clusterwright.check.of_gpus import has_nvlink
from clusterwright.check.verdict import Verdict


@check(
    nvlinks,
    when=has_nvlink,
    on=("deploy", "periodic", "burn-in", "boot"),
    fix="drain the host and reset all its GPUs; with NVSwitch restart nvidia-fabricmanager first; then repair",
)
def gpu_nvlinks(spec: HostSpec, have: dict[str, tuple[bool, ...]]) -> Iterator[Verdict]:
    """Every NVLink of every GPU is active, and every GPU has as many as the others."""
    most = max(len(links) for links in have.values())
    expected = f"{most or 'some'} links on each GPU, all active (nodes.{spec.host.group_name}.gpus.nvlink)"
    faults = []
    for gpu, links in have.items():
        down = [str(number) for number, active in enumerate(links) if not active]
        if down:
            observed = f"GPU {gpu}: {len(down)} of {len(links)} links inactive ({', '.join(down)})"
            faults.append(fault(observed=observed, expected=expected, part=f"gpu {gpu}"))
        elif len(links) < most or not links:
            faults.append(
                fault(observed=f"GPU {gpu} has {len(links)} links", expected=expected, part=f"gpu {gpu}")
            )
    yield from faults or [
        fine(observed=f"{most} links active on each of {len(have)} GPUs", expected=expected)
    ]
