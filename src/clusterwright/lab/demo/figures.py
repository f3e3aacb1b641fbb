"""The table of all figures, in groups."""

from __future__ import annotations

from clusterwright.i18n import _
from clusterwright.lab.demo.report import DemoReport

Rows = tuple[tuple[str, str], ...]
LABELS = {
    "image": "node image",
    "lab_up": "lab up",
    "apply": "apply",
    "second_apply": "apply again",
    "check": "check",
    "train": "training with the fault",
    "recovery": "of that, recovery",
    "train_uninterrupted": "training without it",
    "lab_down": "lab down",
    "total": "all of it",
}


def figures(report: DemoReport) -> tuple[tuple[str, Rows], ...]:
    """Return the tables of figures on the demo's page: each a title and rows of a name and a value with its unit."""
    return (
        ("Seconds", _seconds(report)),
        (_("The training"), _training(report)),
        (_("The machine"), tuple(report.machine.items())),
        ("Software", tuple(report.software.items())),
    )


def _seconds(report: DemoReport) -> Rows:
    return tuple(
        (
            LABELS[name],
            f"{value:.2f} s"
            if value is not None
            else report.not_applicable.get(f"seconds.{name}", _("not run")),
        )
        for name, value in report.seconds.items()
    )


def _training(report: DemoReport) -> Rows:
    fault = report.fault or {}
    rows = (
        ("steps", str(report.steps_total)),
        (_("steps done again"), str(report.steps_repeated)),
        (
            _("checkpoint interval"),
            _("{count} steps", count=report.checkpoint_every) if report.checkpoint_every else _("unknown"),
        ),
        ("ranks", " then ".join(str(size) for size in report.world_sizes) or "unknown"),
        ("fault", f"{fault.get('kind')} {fault.get('host')}" if fault else "none"),
        ("where", _fault_position(fault)),
        (_("final loss with the fault"), _exact(report.loss_final)),
        (_("final loss without the fault"), _exact(report.loss_final_uninterrupted)),
        (
            _("losses have the same bits"),
            {True: _("yes"), False: _("no"), None: _("unknown")}[report.losses_equal_bitwise],
        ),
        (_("host back in Slurm after"), _rejoin_time(report)),
    )
    return tuple((name, value) for name, value in rows if value)


def _fault_position(fault: dict[str, object]) -> str:
    if fault.get("epoch_part") is None:
        return _("after step {step}", step=fault["at_step"]) if fault else ""
    return _(
        "after step {step}, {share:.0%} into epoch {epoch}",
        step=fault["at_step"],
        share=float(str(fault["epoch_part"])),
        epoch=fault["epoch"],
    )


def _rejoin_time(report: DemoReport) -> str:
    seconds = (report.fault or {}).get("joined_again_s")
    return (
        f"{seconds:.1f} s" if seconds is not None else report.not_applicable.get("fault.joined_again_s", "")
    )


def _exact(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6f}"
