"""States by the base states and flags of slurm.h."""

import pytest

from clusterwright.slurm import states
from clusterwright.slurm.states import is_node_state, parse_node_state

# slurm_protocol_defs.c, job_state_string of Slurm 26.05, and the two flags that it never prints.
PRINTED = {
    "COMPLETING", "STAGE_OUT", "CONFIGURING", "EXPEDITING", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD",
    "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING", "PENDING", "RUNNING", "SUSPENDED", "COMPLETED",
    "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
}  # fmt: skip


def test_every_job_state_of_slurm_is_in_one_phase():
    """A job waits, holds hosts, or has ended; an unknown state is none of these."""
    phases = {
        state: [states.is_pending(state), states.is_allocated(state), states.is_finished(state)]
        for state in states.JOB_STATES
    }

    assert set(states.JOB_STATES) == PRINTED | {"LAUNCH_FAILED", "RECONFIG_FAIL"}
    assert all(sum(phase) == 1 for phase in phases.values())
    assert not any(test("NEW_STATE") for test in (states.is_pending, states.is_allocated, states.is_finished))


@pytest.mark.parametrize(
    "state", ["RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING"]
)
def test_a_job_holds_hosts_from_their_boot_to_the_end_of_its_epilog(state):
    """Nobody may take its hosts meanwhile."""
    assert states.is_allocated(state)
    assert state in states.HOLDING


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("IDLE", "idle"), ("IDLE+DRAIN", "drained"), ("IDLE+DRAIN+NOT_RESPONDING", "drained*"),
        ("DOWN+NOT_RESPONDING", "down*"), ("IDLE+MAINTENANCE", "maint"), ("IDLE+POWERED_DOWN", "idle~"),
        ("IDLE+INVALID_REG", "inval"), ("ALLOCATED+COMPLETING", "allocated+"), ("MIXED+PLANNED", "mixed-"),
        ("IDLE+MAINT", "IDLE+MAINTENANCE"), ("IDLE+REBOOT_REQUESTED", "reboot"), ("ALLOCATED+DRAIN", "draining"),
    ],
)  # fmt: skip
def test_scontrol_and_sinfo_give_the_same_state(text, same):
    """Flags as words, and as marks behind one word."""
    assert parse_node_state(text) == parse_node_state(same)


@pytest.mark.parametrize(
    ("text", "available"),
    [
        ("IDLE", True), ("MIXED+CLOUD", True), ("ALLOCATED+COMPLETING", True), ("IDLE+POWERED_DOWN", True),
        ("IDLE+PLANNED", True), ("IDLE+DRAIN", False), ("MIXED+MAINTENANCE", False), ("IDLE*", False),
        ("DOWN", False), ("UNKNOWN", False), ("FUTURE", False), ("IDLE+INVALID_REG", False), ("IDLE+FAIL", False),
        ("IDLE+POWERING_DOWN", False), ("IDLE+REBOOT_ISSUED", False), ("", False), ("NEWSTATE", False),
    ],
)  # fmt: skip
def test_slurm_starts_jobs_on_available_nodes_alone(text, available):
    """A node that is powered down boots for a job."""
    assert parse_node_state(text).is_available == available


def test_a_flag_that_nobody_knows_is_kept():
    """A release to come adds some."""
    assert parse_node_state("MIXED+SOMETHING_NEW").text == "MIXED+SOMETHING_NEW"


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("IDLE", True), ("DOWN*+DRAIN+CLOUD", True), ("allocated+", True), ("MIXED+SOMETHING_NEW", True),
        ("idle~", True), ("", False), ("*", False), ("MIXED Parti*", False), ("MI-XED", False), ("IDLE++DRAIN", False),
        ("MIXED\n", False), ("\u017fIDLE", False),
    ],
)  # fmt: skip
def test_a_state_has_a_form(text, valid):
    """Words of Latin letters with marks behind them, also words that no release has yet."""
    assert is_node_state(text) == valid
