"""Why a node is out, out of one line of `scontrol show node`."""

import pytest

from clusterwright.diagnose.node import explain
from clusterwright.diagnose.node.diagnoses import node_diagnoses
from clusterwright.slurm.records import Record

LINE = "NodeName=gpu-7 Arch=x86_64 State={state} ThreadsPerCore=1 BootTime=2026-11-22T10:43:17 {reason}"

SLURM = "[slurm@2026-11-22T23:06:54]"


def node(state, reason=""):
    """What is said of a node in that state, with that reason."""
    text = f"Reason={reason}" if reason else ""
    return explain(Record.parse(LINE.format(state=state, reason=text.format(by=SLURM))))


@pytest.mark.parametrize(
    ("state", "reason", "kind", "mode"),
    [
        ("DOWN*", "Not responding {by}", "node-lost", "node/slurm"),
        ("DOWN+DRAIN", "Node unexpectedly rebooted {by}", "node-lost", "node/slurm"),
        ("IDLE+DRAIN", "gres/gpu count reported lower than configured (3 < 4) {by}", "slurm-config", "node/slurm"),
        ("IDLE+DRAIN", "Low RealMemory (reported:1 < 100.00% of configured:2) {by}", "slurm-config", "node/slurm"),
        ("IDLE+DRAIN", "Kill task failed [root@2026-11-22T23:06:54]", "storage-io", "node/slurm"),
        ("IDLE+DRAIN", "SlurmdSpoolDir is full {by}", "storage-full", "node/slurm"),
        ("IDLE+DRAIN", "Prolog error {by}", "slurm-config", "node/hooks"),
        ("IDLE+DRAIN", "a fan is loud [alice@2026-11-22T23:06:54]", "other", "node/person"),
        ("IDLE+DRAIN", "wright: heal #6 gpu_lost: check: XID 79 {by}", "gpu-hardware", "node/command"),
        ("IDLE+DRAIN", "wright: heal #7 gpu_driver: check: slow {by}", "driver-mismatch", "node/command"),
        ("IDLE+DRAIN", "wright: heal #8 munge: check: dead {by}", "slurm-auth", "node/command"),
        ("IDLE+MAINT", "", "other", "node/maintenance"),
        ("IDLE+POWERED_DOWN", "", "other", "node/power-saving"),
        ("IDLE*", "", "node-lost", "node/not-heard"),
        ("MIXED", "", "other", "node/in-service"),
    ],
)  # fmt: skip
def test_the_reason_names_class_and_author(state, reason, kind, mode):
    """Whatever Slurm, our programs or a person wrote."""
    said = node(state, reason)

    assert (said.kind, said.mode) == (kind, mode)
    assert said.fix
    assert said.cause


def test_who_and_when_are_said():
    """A person's name and the time, and the command that gives the node back."""
    said = node("IDLE+DRAIN", "a fan is loud [alice@2026-11-22T23:06:54]")

    assert "Out of service since 2026-11-22 23:06, set by alice: a fan is loud." in said.cause
    assert "scontrol update nodename=gpu-7 state=resume" in said.fix


def test_a_node_out_of_service_is_excluded_and_one_in_service_is_not():
    """What heal would act on."""
    out = node_diagnoses(node("DOWN*", "Not responding {by}"), [], answers=False)[0]
    fine = node_diagnoses(node("IDLE"), [], answers=True)[0]

    assert (out.exclude, out.retry, out.role) == ("gpu-7", "elsewhere", "root")
    assert "does not answer ssh" in out.cause
    assert (fine.exclude, fine.role) == ("", "benign")
