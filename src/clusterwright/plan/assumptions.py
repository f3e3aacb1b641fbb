"""What every plan assumes where nothing is given, in one place, and the line that states it in each output.

`size`, `search`, `explain` and `predict` plan a training with these defaults and the fastest layout that fits, so
that the same model, GPUs and batch have one figure in all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.i18n import N_, _
from clusterwright.plan.run import Offload, Recompute, Run, Stack

if TYPE_CHECKING:
    from clusterwright.catalog.records import Gpu

STACK = Stack()  # software of every plan without --software
ALTERNATIVE = "fsdp"  # software that `size` compares with, as most fine-tuning runs on PyTorch's FSDP
NO_LAYOUT = "plan-no-layout"  # no layout divides the model and the batch
_BY_CATALOG = {"mxfp8": "fp8", "nvfp4": "fp4"}  # precision of the catalog that it runs at
_SHARDING = (
    N_("none (ZeRO 0)"),
    N_("optimizer states (ZeRO 1)"),
    N_("optimizer states and gradients (ZeRO 2)"),
    N_("all states (ZeRO 3, FSDP)"),
)


def usual_precision(gpu: Gpu, precision: str) -> str:
    """Return the precision, or fp16 in place of bf16 on a GPU without bf16 units (before Ampere)."""
    lacks_bf16 = precision == "bf16" and "bf16" not in gpu.peak and "fp16" in gpu.peak
    return "fp16" if lacks_bf16 else precision


def has_units(gpu: Gpu, precision: str) -> bool:
    """True if the GPU has matrix units for a precision."""
    return _BY_CATALOG.get(precision, precision) in gpu.peak


def describe_assumptions(run: Run) -> str:
    """Return one line that states what a prediction of the run assumes: software, sharding, recomputation and more."""
    layout, training = run.layout, run.training
    return _(
        "based on: {software} of {year}; sharding: {sharding}; recomputation: {recomputation}; CPU offload: "
        "{offload}; pipeline schedule: {schedule}; {precision}, {optimizer}, gradients of {size} bytes",
        software=run.stack.family,
        year=run.stack.year,
        sharding=_(_SHARDING[int(layout.zero)]),
        recomputation=Recompute(int(layout.recompute)).name.lower(),
        offload=Offload(int(layout.offload)).name.lower(),
        schedule=str(layout.schedule) if layout.pp > 1 else _("none"),
        precision=training.precision,
        optimizer=training.optimizer,
        size=training.gradient_bytes,
    )
