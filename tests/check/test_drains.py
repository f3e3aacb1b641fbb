"""Who has drained a node."""

import subprocess

import pytest

from clusterwright.check.checks.node_states import _BEYOND
from clusterwright.check.drains import drain
from clusterwright.provision.render.job_hooks import hook_texts

SHARE = hook_texts("")["/etc/slurm/clusterwright/share"]


def as_health(faults):
    """The reason that the health program writes: its own text is run."""
    done = subprocess.run(
        ["sh", "-c", f'{SHARE}\nreason_of "$1"', "sh", faults], capture_output=True, text=True, check=True
    )  # fmt: skip
    return done.stdout.strip()


def test_a_reason_of_the_health_program_is_told_by_its_sum():
    """With the fix of the fault, and that nothing else need be done."""
    reason = as_health("gpu-lost 3 GPUs answer the driver, 4 are declared: Unable to `id`")
    found = drain("gpu-node1", f"{reason} [root@2026-11-22T14:00:00]")

    assert (found.origin, found.reason) == (
        "health",
        "gpu-lost 3 GPUs answer the driver, 4 are declared: Unable to id",
    )
    assert "reseat" in found.fix
    assert "resumes the node" in found.fix


@pytest.mark.parametrize(
    ("reason", "who"),
    [
        (as_health("gpu-lost 3 of 4").replace("3 of 4", "3 of 4, RMA 77"), "person"),
        (as_health("gpu-lost 3 of 4") + " RMA 77", "person"),
        ("wright: gpu-lost 3 of 4", "person"),
        ("alice: new fan", "person"),
        ("Prolog error", "hooks"),
        ("wright: apply 7f3a", "command"),
        ("gres/gpu count reported lower than configured (3 < 4)", "slurm"),
        ("Not responding", "slurm"),
    ],
)
def test_who_has_drained(reason, who):
    """A reason of the health program that somebody has changed is that person's, as it is for the program itself."""
    found = drain("gpu-node1", f"{reason} [root@2026-11-22T14:00:00]")

    assert (found.origin, found.reason) == (who, reason)
    assert ("state=resume" in found.fix) == (who != "hooks")


def test_a_person_is_named():
    """By the account that set the reason."""
    assert drain("n", "new fan [alice@2026-11-22T14:00:00]").by == "alice"


def test_a_fault_beyond_the_share_has_one_wording():
    """What the program writes is what the check looks for."""
    assert f'Comment="{_BEYOND}$(plain' in SHARE
