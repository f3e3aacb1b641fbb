"""Who took a node out of service."""

import pytest

from clusterwright.check.drains import drain
from clusterwright.onhost.exporter.collectors.control_host import slurm
from clusterwright.onhost.exporter.text import rendered
from clusterwright.slurm.drain_reasons import parse_drain_reason
from clusterwright.slurm.nodes import parse_nodes

SIGNED = "[root@2026-11-23T03:00:00]"


@pytest.mark.parametrize(
    ("reason", "who", "command"),
    [
        ("SlurmdSpoolDir is full", "slurm", ""),
        ("Could not unpack gres", "slurm", ""),
        ("Prolog error", "hooks", ""),
        ("Job env setup error", "hooks", ""),
        ("wright: heal #3 gpu_lost: x", "command", "heal"),
        ("wright: spare", "command", "spare"),
        ("wright: apply 20261123T030000Z", "command", "apply"),
        ("wright: it leaves the cluster", "command", "remove-hosts"),
        ("wright: power: failed boots: 3: x", "command", "power"),
        ("wright: power: (no answer)", "command", "power"),
        ("wright: healthy after the repair", "person", ""),
        ("a fan is loud", "person", ""),
    ],
)
def test_a_reason_names_its_author(reason, who, command):
    """With who and when behind it, and without."""
    for text in (reason, f"{reason} {SIGNED}"):
        found = parse_drain_reason(text)

        assert (found.origin, found.command, found.text) == (who, command, reason)


def test_the_exporter_and_the_check_name_the_same_author():
    """A full spool folder was Slurm's for the check, and a person's for the exporter."""
    reason = f"SlurmdSpoolDir is full {SIGNED}"
    nodes = parse_nodes(f"NodeName=n1 State=IDLE+DRAIN Partitions=a Reason={reason}").values()
    metrics = rendered(slurm.of_nodes(nodes))

    assert drain("n1", reason).origin == "slurm"
    assert (
        'clusterwright_slurm_node_drain_info{node="n1",who="slurm",reason="SlurmdSpoolDir is full"} 1'
        in metrics
    )


@pytest.mark.parametrize(
    ("reason", "mismatch"),
    [
        ("gres/gpu count reported lower than configured (3 < 4)", True),
        ("Low RealMemory (x)", True),
        ("Not responding", False),
    ],
)
def test_a_host_that_registers_with_less_is_a_mismatch(reason, mismatch):
    """It may be true for a moment, while files change host by host."""
    assert parse_drain_reason(reason).is_mismatch == mismatch


@pytest.mark.parametrize(
    ("reason", "codes"),
    [
        ("Not responding [slurm@2026-11-23T03:00:00]", ["not-responding"]),
        ("SlurmdSpoolDir is full", ["spool-dir-full"]),
        ("Invalid GRES data for gpu", ["mismatch"]),
        ("Prolog error", ["hooks"]),
        ("wright: heal #12 gpu_lost: GPU 3", ["gpu-lost"]),
        ("linked to ticket 4711 [alice@2026-11-23T03:00:00]", []),
    ],
)
def test_a_reason_is_a_code_and_a_persons_words_are_none(reason, codes):
    """What somebody writes about links is no fault of a link."""
    assert [fault.code for fault in parse_drain_reason(reason).faults] == codes
