"""What a job waits for, in plain words of two languages."""

import re
from pathlib import Path

import pytest

from clusterwright.monitor.snapshot import waits

RECORDED = Path(__file__).parents[2] / "diagnose" / "pending" / "recorded"
# Of slurm.h and of squeue's manual, 21.08 to 25.05.
NAMED = (
    "AssocGrpGRES", "AssocGrpJobsLimit", "AssocGrpCPURunMinutesLimit", "AssocMaxJobsLimit", "AssociationJobLimit",
    "BeginTime", "BurstBufferResources", "Cleaning", "DeadLine", "Dependency", "DependencyNeverSatisfied",
    "InvalidAccount", "InvalidQOS", "JobArrayTaskLimit", "JobHeldAdmin", "JobHeldUser", "Licenses", "NodeDown", "None",
    "PartitionDown", "PartitionInactive", "PartitionNodeLimit", "PartitionTimeLimit", "Priority", "Prolog",
    "QOSGrpGRES", "QOSJobLimit", "QOSMaxCpuPerUserLimit", "QOSMaxGRESPerUser", "QOSMaxJobsPerUserLimit",
    "QOSMaxWallDurationPerJobLimit", "QOSUsageThreshold", "ReqNodeNotAvail, UnavailableNodes:n[1-2]", "Reservation",
    "ReservationDeleted", "Resources", "JobHoldMaxRequeue", "launch failed requeued held",
)  # fmt: skip


def recorded():
    """Reasons that a real slurmctld gave, as scontrol writes them."""
    found = {
        reason
        for path in RECORDED.glob("*.txt")
        for reason in re.findall(r"JobState=PENDING Reason=(\S+)", path.read_text())
    }
    assert len(found) > 10
    return sorted(found)


@pytest.mark.parametrize("reason", [*NAMED, *recorded()])
def test_a_reason_has_a_text(reason):
    """Not Slurm's own word."""
    assert waits(reason) != reason
    assert waits(reason).isascii()


def test_limits_of_a_team_and_of_a_quality_of_service_are_told_apart():
    """By what they limit, where Slurm says so."""
    assert waits("AssocGrpGRES") == "the GPU limit of the team is reached"
    assert waits("QOSMaxGRESPerUser") == "the GPU limit of the QOS is reached"
    assert waits("AssocMaxJobsLimit") == "the job limit of the team is reached"
    assert waits("AssocMaxWallDurationPerJobLimit") == "the job's time limit exceeds that of the team"
    assert waits("QOSMaxWallDurationPerJobLimit") == "the job's time limit exceeds that of the QOS"
    assert waits("AssocMaxCpuPerJobLimit") == "a limit of the team is reached"
    assert waits("AssocGrpBilling") == "a limit of the team is reached"
    assert waits("DependencyNeverSatisfied") != waits("Dependency")


def test_a_reason_of_a_later_release_is_said_as_slurm_says_it():
    """And no reason is nothing."""
    assert (waits("QuantumFlux"), waits("")) == ("QuantumFlux", "")
