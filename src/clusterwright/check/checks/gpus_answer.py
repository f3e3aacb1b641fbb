"""All declared GPUs answer the driver."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, gpus
from clusterwright.check.of_gpus import has_gpus, no_gpu
from clusterwright.check.verdict import Verdict
from clusterwright.config.nodes import Gpus
from clusterwright.errors import WrightError
from clusterwright.i18n import _, _n
from clusterwright.units import human_size

_SHARE = 0.9  # ours: ECC takes up to 6.25 % of GDDR memory; a wrong model is a third smaller


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in", "boot"),
    field="nodes.{group}.gpus",
    fix="drain the host; read `nvidia-smi -q` and `dmesg | grep -i xid`, then reboot the host or replace the GPU",
    in_jobs=True,
)
def gpus_answer(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """Every declared GPU answers the driver and has the memory of the cluster file or the GPU catalog.

    90% of the memory is enough.
    """
    declared = spec.host.group.gpus
    count = declared.count if declared else 0
    expected = _("{count} GPUs (nodes.{group}.gpus.count)", count=count, group=spec.host.group_name)
    if have.absent:
        yield no_gpu(spec, have, expected)
        return
    is_complete = len(have.gpus) == count
    detail = f": {have.reason}" if have.messages and not is_complete else ""
    codes = (have.code,) if have.code else ()
    yield expect(
        is_complete,
        observed=_n("{count} GPU answers the driver", "{count} GPUs answer the driver", len(have.gpus))
        + detail,
        expected=expected,
        codes=codes,
    )
    least = _SHARE * _memory(declared) if declared else 0.0
    for gpu in have.gpus:
        if (gpu.memory_bytes or 0) < least:
            yield fault(
                observed=_(
                    "GPU {gpu} has {size} of memory", gpu=gpu.index, size=human_size(gpu.memory_bytes or 0)
                ),
                expected=_(
                    "at least {size} (nodes.{group}.gpus, or the GPU catalog)",
                    size=human_size(least),
                    group=spec.host.group_name,
                ),
                part=f"gpu {gpu.index}",
            )


def _memory(declared: Gpus) -> float:
    """Return the memory bytes of a GPU by the cluster file or the GPU catalog; 0 if neither has it."""
    from clusterwright.plan.expected import gpu_memory_bytes

    try:
        return gpu_memory_bytes(declared)
    except WrightError:
        return 0.0
