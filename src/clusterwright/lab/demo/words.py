"""What the page says, in English and, where it is short, in Chinese."""

from __future__ import annotations

import tomllib
from pathlib import Path

from clusterwright.lab.demo.report import Report

ZH: dict[str, str] = tomllib.loads(Path(__file__).with_name("zh.toml").read_text())


def headline(made: Report) -> tuple[str, str]:
    """The one sentence, in both languages."""
    if made.fault is None or not made.ok:
        return "The demo did not do all that it claims.", ZH["headline not"]
    step, who = made.fault["at_step"], "host" if made.mode == "lab" else "rank"
    said = f"A {who} died after step {step}. The training finished as if nothing had happened."
    return said, ZH[f"headline {made.mode}"].format(step=step)


def hero(made: Report) -> tuple[tuple[str, str, str], ...]:
    """The four figures on top: value, unit, what it is."""
    took = made.recovery.seconds if made.recovery else None
    left = made.left_behind
    return (
        ("unknown" if took is None else f"{took:.1f}", "s", "from the kill to new progress"),
        (str(made.steps_repeated), f"of {made.steps_total}", "steps done again"),
        _difference(made),
        ("unknown" if left is None else str(len(left)), "things", "left behind on the machine"),
    )


def _difference(made: Report) -> tuple[str, str, str]:
    said = "difference between the losses"
    if made.losses_equal_bitwise is None:
        return "unknown", "", said
    if made.losses_equal_bitwise:
        return "0", "in every bit", said
    return str(len(made.steps_differing)), "steps differ", said


def place_text(made: Report) -> str:
    """What the first drawing shows."""
    if made.cluster is None:
        why = made.not_applicable.get("lab", "")
        return f"Where hosts cannot be made, the same training runs as ranks on one machine. {why}".strip()
    count = len(made.cluster.hosts)
    return (
        f"{count} virtual hosts on one machine, each with its own systemd, sshd, Slurm daemon, addresses and "
        "simulated GPUs. Filled squares are GPUs that had a rank of this training."
    )


def applied_text(made: Report) -> str:
    """What stands above the verdicts."""
    changes = made.second_apply_changes
    if changes is None:
        return "Checks, by verdict:"
    return f"Applied a second time, the cluster file changed {changes} things. Then the checks, by verdict:"


def loss_text(made: Report) -> str:
    """What the curves show."""
    if made.losses_equal_bitwise:
        return (
            f"Two trainings from the same seed, {made.steps_total} steps each. "
            "The thin line lies on the thick one: every loss has the same bits, also after the fault, "
            "because a checkpoint holds model, optimiser, random states and the place in the data."
        )
    if made.losses_equal_bitwise is None:
        return "There is only one training to show; the other did not run."
    first = made.steps_differing[0]
    return f"The losses differ in {len(made.steps_differing)} steps; the first is step {first}."


def footer(made: Report) -> str:
    """When it was made, and what was not real."""
    simulated = (
        " The GPUs are simulated device files: the training ran on CPUs." if made.mode == "lab" else ""
    )
    return f"Made {made.made_at} by Clusterwright {made.software.get('clusterwright', '')}.{simulated}"


def again(made: Report) -> str:
    """The commands that do the same again."""
    if made.mode == "local":
        return "make demo\n\n# this page, wherever Linux runs\nwright demo --local"
    host = made.fault["host"] if made.fault else "gpu-node2"
    return f"""make demo

# or step by step
wright lab up examples/lab/cluster.yaml
wright apply examples/lab/cluster.yaml --yes
wright check examples/lab/cluster.yaml
wright train examples/lab/gpt.yaml
wright lab fault kill-host {host}
wright logs -f last
wright lab down"""
