"""The sentences of the page."""

from __future__ import annotations

from clusterwright.i18n import _, bilingual
from clusterwright.lab.demo.report import Report


def headline(report: Report) -> tuple[str, str]:
    """The one sentence, in both languages."""
    if report.fault is None or not report.ok:
        return bilingual("The demo did not do all that it claims.")
    step = report.fault["at_step"]
    if report.mode == "lab":
        return bilingual(
            "A host died after step {step}. The training finished as if nothing had happened.", step=step
        )
    return bilingual(
        "A rank died after step {step}. The training finished as if nothing had happened.", step=step
    )


def hero(report: Report) -> tuple[tuple[str, str, str], ...]:
    """The four figures on top: value, unit, what it is."""
    recovery_s = report.recovery.seconds if report.recovery else None
    leftovers = report.left_behind
    return (
        ("unknown" if recovery_s is None else f"{recovery_s:.1f}", "s", "from the kill to new progress"),
        (str(report.steps_repeated), f"of {report.steps_total}", "steps done again"),
        _difference(report),
        ("unknown" if leftovers is None else str(len(leftovers)), "things", "left behind on the machine"),
    )


def _difference(report: Report) -> tuple[str, str, str]:
    caption = _("difference between the losses")
    if report.losses_equal_bitwise is None:
        return "unknown", "", caption
    if report.losses_equal_bitwise:
        return "0", "in every bit", caption
    return str(len(report.steps_differing)), "steps differ", caption


def place_text(report: Report) -> str:
    """What the first drawing shows."""
    if report.cluster is None:
        reason = report.not_applicable.get("lab", "")
        return f"Where hosts cannot be made, the same training runs as ranks on one machine. {reason}".strip()
    count = len(report.cluster.hosts)
    return (
        f"{count} virtual hosts on one machine, each with its own systemd, sshd, Slurm daemon, addresses and "
        "simulated GPUs. Filled squares are GPUs that had a rank of this training."
    )


def applied_text(report: Report) -> str:
    """What stands above the verdicts."""
    changes = report.second_apply_changes
    if changes is None:
        return "Checks, by verdict:"
    return f"Applied a second time, the cluster file changed {changes} things. Then the checks, by verdict:"


def loss_text(report: Report) -> str:
    """What the curves show."""
    if report.losses_equal_bitwise:
        return (
            f"Two trainings from the same seed, {report.steps_total} steps each. "
            "The thin line lies on the thick one: every loss has the same bits, also after the fault, "
            "because a checkpoint holds model, optimiser, random states and the place in the data."
        )
    if report.losses_equal_bitwise is None:
        return "There is only one training to show; the other did not run."
    first_step = report.steps_differing[0]
    return f"The losses differ in {len(report.steps_differing)} steps; the first is step {first_step}."


def footer(report: Report) -> str:
    """When it was made, and what was not real."""
    simulated = (
        " The GPUs are simulated device files: the training ran on CPUs." if report.mode == "lab" else ""
    )
    return f"Made {report.made_at} by Clusterwright {report.software.get('clusterwright', '')}.{simulated}"


def repeat_commands(report: Report) -> str:
    """The commands that do the same again."""
    if report.mode == "local":
        return "make demo\n\n# this page, wherever Linux runs\nwright demo --local"
    host = report.fault["host"] if report.fault else "gpu-node2"
    return f"""make demo

# or step by step
wright lab up examples/lab/cluster.yaml
wright apply examples/lab/cluster.yaml --yes
wright check examples/lab/cluster.yaml
wright train examples/lab/gpt.yaml
wright lab fault kill-host {host}
wright logs -f last
wright lab down"""
