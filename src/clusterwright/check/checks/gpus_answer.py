"""The GPUs answer the driver."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, gpus
from clusterwright.check.of_gpus import has_gpus, no_gpu
from clusterwright.check.verdict import Verdict
from clusterwright.config.nodes import Gpus
from clusterwright.errors import WrightError
from clusterwright.i18n import _

_SHARE = 0.9  # ours: GDDR boards give up to 6.25 % of their memory to ECC; a wrong model is a third smaller


@check(
    gpus,
    when=has_gpus,
    on=("deploy", "periodic", "burn-in", "boot"),
    field="nodes.{group}.gpus",
    fix="drain the host; `nvidia-smi -q` and `dmesg | grep -i xid` say whether a reboot or a repair is due",
)
def gpus_answer(spec: HostSpec, have: Driver) -> Iterator[Verdict]:
    """Every declared GPU answers the driver, with as much memory as the file or the catalog says."""
    declared = spec.host.group.gpus
    count = declared.count if declared else 0
    expected = _("{count} GPUs (nodes.{group_name}.gpus.count)", count=count, group_name=spec.host.group_name)
    if have.absent:
        yield no_gpu(spec, have, expected)
        return
    is_complete = len(have.gpus) == count
    detail = f": {have.reason}" if have.messages and not is_complete else ""
    codes = (have.code,) if have.code else ()
    yield expect(
        is_complete,
        observed=_("{count} GPUs answer{detail}", count=len(have.gpus), detail=detail),
        expected=expected,
        codes=codes,
    )
    least = _SHARE * _memory(declared) if declared else 0.0
    for gpu in have.gpus:
        if (gpu.memory_bytes or 0) < least:
            yield fault(
                observed=_(
                    "GPU {index} has {memory_bytes} GiB",
                    index=gpu.index,
                    memory_bytes=(gpu.memory_bytes or 0) >> 30,
                ),
                expected=_(
                    "{least:.0f} GiB at least (nodes.{group_name}.gpus, or the catalog)",
                    least=least / 2**30,
                    group_name=spec.host.group_name,
                ),
                part=_("gpu {index}", index=gpu.index),
            )


def _memory(declared: Gpus) -> float:
    """Bytes that such a GPU must have, as the file or the catalog says; 0 where neither does."""
    from clusterwright.plan.expected import gpu_memory_bytes

    try:
        return gpu_memory_bytes(declared)
    except WrightError:
        return 0.0
