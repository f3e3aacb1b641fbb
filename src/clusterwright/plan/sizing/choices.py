"""Hardware side by side, by what it is for: training, science, inference."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.errors import WrightError
from clusterwright.plan.sizing.fewest import fewest
from clusterwright.plan.sizing.science import roof
from clusterwright.plan.sizing.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clusterwright.catalog.fp64 import Fp64
    from clusterwright.catalog.gpu import Gpu
    from clusterwright.catalog.model import Architecture
    from clusterwright.plan.sizing.fewest import Means, Sized
    from clusterwright.plan.sizing.science import Roof
    from clusterwright.plan.sizing.serving import Serving
    from clusterwright.plan.sizing.workload import Workload


class Scenario(StrEnum):
    """What the hardware is for."""

    TRAINING = "training"
    SCIENCE = "science"
    INFERENCE = "inference"


# Boards with a fast link for training; high double-precision rates for science; cards that a few fit in any server
# for inference. The guides name A100 and H100; Tesla and Instinct; L4 and T4 (mission row P2).
USUAL = {
    Scenario.TRAINING: ("a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "mi300x"),
    Scenario.SCIENCE: ("v100-sxm2-32gb", "a100-sxm-80gb", "h100-sxm-80gb", "mi250x", "mi300x"),
    Scenario.INFERENCE: ("t4", "l4", "l40s", "a100-sxm-80gb", "h100-sxm-80gb"),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One GPU held against the workload; what does not apply is None."""

    gpu: Gpu
    sized: Sized | None = None
    serving: Serving | None = None
    roof: Roof | None = None
    why_not: str = ""


def for_training(
    workload: Workload, deadline_s: float, gpus: Iterable[Gpu], means: Means
) -> tuple[Choice, ...]:
    """The fewest of each GPU before the deadline, or why none are enough."""
    return tuple(_trained(workload, deadline_s, gpu, means) for gpu in gpus)


def _trained(workload: Workload, deadline_s: float, gpu: Gpu, means: Means) -> Choice:
    try:
        return Choice(gpu, fewest(workload, gpu, deadline_s, means))
    except WrightError as why:
        return Choice(gpu, why_not="; ".join(finding.message for finding in why.findings))


def for_inference(model: Architecture, gpus: Iterable[Gpu], context: int) -> tuple[Choice, ...]:
    """Tokens a second that each allows, or that the model does not fit."""
    found = ((gpu, serving(model, gpu, context)) for gpu in gpus)
    return tuple(
        Choice(
            gpu,
            serving=made if made.gpus else None,
            why_not="" if made.gpus else "does not fit into 8 of them",
        )
        for gpu, made in found
    )


def for_science(gpus: Iterable[Gpu], rates: Mapping[str, Fp64]) -> tuple[Choice, ...]:
    """Double-precision rates and bandwidth; a GPU whose rate was not looked up says so."""
    return tuple(
        Choice(gpu, roof=roof(gpu, rates[gpu.name]))
        if gpu.name in rates
        else Choice(gpu, why_not="its double-precision rate is not in the catalog")
        for gpu in gpus
    )
