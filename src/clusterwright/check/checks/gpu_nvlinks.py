"""The NVLinks are up."""

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
    fix="drain the host and reset all its GPUs; with NVSwitch restart nvidia-fabricmanager first; then repair",
)
def gpu_nvlinks(spec: HostSpec, have: dict[str, tuple[bool, ...]]) -> Iterator[Verdict]:
    """Every NVLink of every GPU is active, and every GPU has as many as the others."""
    most = max(len(links) for links in have.values())
    expected = _(
        "{most} links on each GPU, all active (nodes.{group_name}.gpus.nvlink)",
        most=most or "some",
        group_name=spec.host.group_name,
    )
    faults = []
    for gpu, links in have.items():
        down = [str(number) for number, active in enumerate(links) if not active]
        if down:
            observed = _(
                "GPU {gpu}: {count} of {count2} links inactive ({down})",
                gpu=gpu,
                count=len(down),
                count2=len(links),
                down=", ".join(down),
            )
            faults.append(fault(observed=observed, expected=expected, part=_("gpu {gpu}", gpu=gpu)))
        elif len(links) < most or not links:
            faults.append(
                fault(
                    observed=_("GPU {gpu} has {count} links", gpu=gpu, count=len(links)),
                    expected=expected,
                    part=_("gpu {gpu}", gpu=gpu),
                )
            )
    yield from faults or [
        fine(
            observed=_("{most} links active on each of {count} GPUs", most=most, count=len(have)),
            expected=expected,
        )
    ]
