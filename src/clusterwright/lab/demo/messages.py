"""The texts of the demo's page."""

from __future__ import annotations

from clusterwright.i18n import N_, _, bilingual
from clusterwright.lab.demo.report import DemoReport


def headline(report: DemoReport) -> tuple[str, str]:
    """Return the headline of the demo's page, in English and Chinese: the fault and the outcome, or that it failed."""
    if report.fault is None or not report.ok:
        return bilingual("The demo did not achieve all that it verifies.")
    step = report.fault["at_step"]
    if report.mode == "lab":
        return bilingual(
            "A host died after step {step}. The training finished as if nothing had happened.", step=step
        )
    return bilingual(
        "A rank died after step {step}. The training finished as if nothing had happened.", step=step
    )


def hero(report: DemoReport) -> tuple[tuple[str, str, str], ...]:
    """Return the four large figures of the page: value, unit, label."""
    recovery_s = report.recovery.seconds if report.recovery else None
    leftovers = report.left_behind
    return (
        (
            _("unknown") if recovery_s is None else f"{recovery_s:.1f}",
            "s",
            N_("from the kill to new progress"),
        ),
        (
            str(report.steps_repeated),
            _("of {steps_total}", steps_total=report.steps_total),
            N_("steps done again"),
        ),
        _difference(report),
        (
            _("unknown") if leftovers is None else str(len(leftovers)),
            _("items"),
            N_("left behind on the machine"),
        ),
    )


def _difference(report: DemoReport) -> tuple[str, str, str]:
    caption = N_("difference between the losses")
    if report.losses_equal_bitwise is None:
        return "unknown", "", caption
    if report.losses_equal_bitwise:
        return "0", _("in every bit"), caption
    return str(len(report.steps_differing)), _("steps differ"), caption


def place_text(report: DemoReport) -> str:
    """Return the text under the drawing of the cluster: what the virtual hosts are, or why there are none."""
    if report.cluster is None:
        reason = report.not_applicable.get("lab", "")
        return _(
            "Where virtual hosts cannot be created, the same training runs as ranks on one machine. {reason}",
            reason=reason,
        ).strip()
    count = len(report.cluster.hosts)
    return _(
        "{count} virtual hosts on one machine, each with its own systemd, sshd, Slurm "
        "daemon, addresses and simulated GPUs. Filled squares are GPUs that ran a rank of "
        "this training.",
        count=count,
    )


def applied_text(report: DemoReport) -> str:
    """Return the text above the verdicts of the health checks."""
    changes = report.second_apply_changes
    if changes is None:
        return _("Checks, by status:")
    return _(
        "The second apply made {changes} changes. Then the checks, by status:",
        changes=changes,
    )


def loss_text(report: DemoReport) -> str:
    """Return a text under the loss curves: whether both trainings have the same losses, bit for bit, or where not."""
    if report.losses_equal_bitwise:
        return _(
            "Two trainings from the same seed, {steps_total} steps each. The thin line lies on "
            "the thick one: every loss has the same bits, also after the fault, because a "
            "checkpoint holds model, optimizer, random states and the position in the data.",
            steps_total=report.steps_total,
        )
    if report.losses_equal_bitwise is None:
        return _("Only one training ran; there is nothing to compare.")
    first_step = report.steps_differing[0]
    return _(
        "The losses differ in {count} steps; the first is step {first_step}.",
        count=len(report.steps_differing),
        first_step=first_step,
    )


def footer(report: DemoReport) -> str:
    """Return the last line of the demo's report: when it was written, by which version, and what was simulated."""
    simulated = (
        " " + _("The GPUs are simulated device files: the training ran on CPUs.")
        if report.mode == "lab"
        else ""
    )
    return _(
        "Written {time} by Clusterwright {version}.{simulated}",
        time=report.made_at,
        version=report.software.get("clusterwright", ""),
        simulated=simulated,
    )


def repeat_commands(report: DemoReport) -> str:
    """Return the shell commands that repeat the demo."""
    if report.mode == "local":
        return "make demo\n\n# this page, wherever Linux runs\nwright demo --local"
    host = report.fault["host"] if report.fault else "gpu-node2"
    return f"""make demo

# or step by step
wright lab up --cluster examples/lab/cluster.yaml
wright apply --cluster examples/lab/cluster.yaml --yes
wright check --cluster examples/lab/cluster.yaml
wright train examples/lab/gpt.yaml
wright lab fault kill-host {host}
wright logs -f last
wright lab down"""
