"""The table of every figure, in groups."""

from __future__ import annotations

from clusterwright.lab.demo.report import Report

Rows = tuple[tuple[str, str], ...]
SAID = {
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


def figures(made: Report) -> tuple[tuple[str, Rows], ...]:
    """Groups of rows: a name and a value with its unit."""
    return (
        ("Seconds", _seconds(made)),
        ("The training", _training(made)),
        ("The machine", tuple(made.machine.items())),
        ("Software", tuple(made.software.items())),
    )


def _seconds(made: Report) -> Rows:
    return tuple(
        (
            SAID[name],
            f"{value:.2f} s" if value is not None else made.not_applicable.get(f"seconds.{name}", "not done"),
        )
        for name, value in made.seconds.items()
    )


def _training(made: Report) -> Rows:
    fault = made.fault or {}
    rows = (
        ("steps", str(made.steps_total)),
        ("steps done again", str(made.steps_repeated)),
        ("checkpoint every", f"{made.checkpoint_every} steps" if made.checkpoint_every else "unknown"),
        ("ranks", " then ".join(str(size) for size in made.world_sizes) or "unknown"),
        ("fault", f"{fault.get('kind')} {fault.get('host')}" if fault else "none"),
        ("where", _where(fault)),
        ("final loss with the fault", _exact(made.loss_final)),
        ("final loss without it", _exact(made.loss_final_uninterrupted)),
        ("equal bit for bit", {True: "yes", False: "no", None: "unknown"}[made.losses_equal_bitwise]),
        ("host in Slurm again after", _again(made)),
    )
    return tuple((name, value) for name, value in rows if value)


def _where(fault: dict[str, object]) -> str:
    if fault.get("epoch_part") is None:
        return f"after step {fault['at_step']}" if fault else ""
    return f"after step {fault['at_step']}, {float(str(fault['epoch_part'])):.0%} into epoch {fault['epoch']}"


def _again(made: Report) -> str:
    seconds = (made.fault or {}).get("joined_again_s")
    return f"{seconds:.1f} s" if seconds is not None else made.not_applicable.get("fault.joined_again_s", "")


def _exact(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6f}"
