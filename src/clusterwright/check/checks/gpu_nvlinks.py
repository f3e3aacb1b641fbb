"""All NVLinks are active."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.nvlinks import nvlinks
from clusterwright.check.of_gpus import has_nvlink
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    nvlinks,
    when=has_nvlink,
    on=("deploy", "periodic", "burn-in", "boot"),
    fix="drain the host and reset all its GPUs (with NVSwitch, restart nvidia-fabricmanager first); if links stay "
    "inactive, have the GPU or baseboard replaced",
    in_jobs=True,
)
def gpu_nvlinks(spec: HostSpec, have: dict[str, tuple[bool, ...]]) -> Iterator[Verdict]:
    """Every NVLink of every GPU is active, and all GPUs have the same number of links."""
    most = max(len(links) for links in have.values())
    expected = _(
        "{count} active NVLinks on each GPU (nodes.{group}.gpus.nvlink)",
        count=most or "1+",
        group=spec.host.group_name,
    )
    faults = []
    for gpu, links in have.items():
        down = [str(number) for number, active in enumerate(links) if not active]
        if down:
            observed = _(
                "GPU {gpu}: {count} of {total} NVLinks inactive ({links})",
                gpu=gpu,
                count=len(down),
                total=len(links),
                links=", ".join(down),
            )
            faults.append(fault(observed=observed, expected=expected, part=f"gpu {gpu}"))
        elif len(links) < most or not links:
            faults.append(
                fault(
                    observed=_("GPU {gpu}: NVLinks: {count}", gpu=gpu, count=len(links)),
                    expected=expected,
                    part=f"gpu {gpu}",
                )
            )
    yield from faults or [
        fine(
            observed=_("{links} active NVLinks on each of {count} GPUs", links=most, count=len(have)),
            expected=expected,
        )
    ]
