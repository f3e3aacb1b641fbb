"""The GPUs answer the driver and are sound."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.gpus import Gpu, gpus
from clusterwright.check.verdict import Verdict
from clusterwright.errors import WrightError
from clusterwright.spec.nodes import Gpus

_SHARE = 0.9  # ours: GDDR boards give up to 6.25 % of their memory to ECC; a wrong model is a third smaller


def _has_gpus(want: Want) -> bool:
    return want.host.group.gpus is not None


def _in_lab(want: Want) -> str:
    return "a lab's GPUs are simulated: device files without a driver" if want.cluster.lab else ""


@check(
    gpus,
    when=_has_gpus,
    unless=_in_lab,
    mend="drain the host; `nvidia-smi -q` and `dmesg | grep -i xid` say whether a reset or a repair is due",
)
def gpus_answer(want: Want, have: tuple[Gpu, ...]) -> Verdict:
    """Every declared GPU answers the declared driver and has no uncorrectable memory error."""
    declared = want.host.group.gpus
    count = declared.count if declared else 0
    faults = [
        *([] if len(have) == count else [f"{len(have)} GPUs answer"]),
        *(fault for each in have for fault in _faults(want, each)),
    ]
    driver = want.cluster.software.driver or "any"
    wanted = f"{count} GPUs (nodes.{want.host.group_name}.gpus), driver {driver}, no ECC error"
    return expect(not faults, saw="; ".join(faults) or f"{count} GPUs answer", want=wanted)


def _faults(want: Want, each: Gpu) -> Iterator[str]:
    driver, declared = want.cluster.software.driver, want.host.group.gpus
    if driver and not (each.driver == driver or each.driver.startswith(f"{driver}.")):
        yield f"GPU {each.index} has driver {each.driver}"
    if each.ecc_uncorrected:
        yield f"GPU {each.index} has {each.ecc_uncorrected} uncorrectable ECC errors"
    if each.remap_failed:
        yield f"GPU {each.index} could not remap a row: replace it"
    elif each.remap_pending:
        yield f"GPU {each.index} waits for a reset to remap a row"
    if declared and each.memory_bytes < _SHARE * _memory(declared):
        yield f"GPU {each.index} has {each.memory_bytes >> 30} GiB"


def _memory(declared: Gpus) -> float:
    """Bytes that such a GPU must have, as the file or the catalog says; 0 where neither does."""
    from clusterwright.plan.expected import gpu_memory_bytes  # noqa: PLC0415 (the planner, where GPUs answer only)

    try:
        return gpu_memory_bytes(declared)
    except WrightError:
        return 0.0
