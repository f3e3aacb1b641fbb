"""Checks of disks, memory, clocks and processes of a host against recorded words of the tools."""

from pathlib import Path

import pytest

from clusterwright.check import registry
from clusterwright.check.fact import HostSpec
from clusterwright.check.verdict import Verdict
from clusterwright.config.load import load_cluster

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).parent / "facts"
CHECKS = {each.id: each for each in registry.all_checks()}


@pytest.fixture(scope="module")
def want():
    """A host with eight NVMe disks and two shared folders."""
    cluster = load_cluster(ROOT / "examples/hgx/cluster.yaml")
    return HostSpec(cluster, next(host for host in cluster.hosts() if host.group.gpus))


def judged(want, check, case):
    """Every verdict of the check on this recorded output."""
    (fact,) = CHECKS[check].needs
    found = CHECKS[check].judge(want, fact.parse((RECORDED / fact.id / f"{case}.txt").read_text()))
    return [found] if isinstance(found, Verdict) else list(found)


@pytest.mark.parametrize(
    ("check", "case", "found"),
    [
        ("fast_clocksource", "dell", ["ok tsc"]),
        ("fast_clocksource", "virtual", ["ok kvm-clock"]),
        ("fast_clocksource", "tsc_lost", ["warn hpet"]),
        ("memory_health", "sound", ["ok no uncorrectable errors; corrected since boot: 3"]),
        ("memory_health", "uncorrected", ["fail uncorrectable errors since boot: mc1: 2"]),
        (
            "memory_health",
            "none_counted",
            ["skipped the kernel has no EDAC driver for this host, so it counts no memory errors"],
        ),
        ("file_systems_answer", "lab_compute", ["ok 2 file systems respond"]),
        (
            "file_systems_answer",
            "server_gone",
            [
                "fail /lustre: no answer",
                "warn /shared: statvfs took 2.41 s",
                "fail /scratch: Input/output error",
            ],
        ),
        ("stuck_processes", "lab_compute", ["ok no hung process"]),
        (
            "stuck_processes",
            "waits_for_nfs",
            [
                "warn processes in state D for 10 s: python3 (4711), python3 (4712), ls (4713), ...",
                "warn 30 zombies: sh (5000), sh (5001), sh (5002), ...",
            ],
        ),
        ("raid_health", "whole", ["ok md0, md127"]),
        ("raid_health", "one_failed", ["fail RAID array md0: 1 of 2 disks are active, failed: nvme1n1p2"]),
        ("raid_health", "recovers", ["warn RAID array md1: 3 of 4 disks are active, recovery 8.1%"]),
        ("raid_health", "inactive", ["fail md127: inactive"]),
        ("raid_health", "none", ["skipped no software RAID"]),
        ("nvme_health", "two_sound", ["ok 2 disks healthy"]),
        (
            "nvme_health",
            "one_worn_one_broken",
            [
                "warn /dev/nvme0: 104% of rated life used",
                "fail /dev/nvme10: spare capacity below its threshold, reliability degraded, read-only",
                "warn /dev/nvme10: media errors: 12",
            ],
        ),
        ("disks_present", "eight_and_a_system_disk", ["ok nvme disks of about 3.84 TB: 8"]),
        ("disks_present", "old_lsblk", ["fail nvme disks of about 3.84 TB: 1"]),
        ("reboot_expected", "orderly", ["ok up for 1 d"]),
        ("reboot_expected", "crashed", ["warn the host booted 1 h ago without a clean shutdown before"]),
        ("reboot_expected", "no_journal", ["skipped the journal of the previous boot is not stored"]),
    ],
)
def test_what_a_tool_says_comes_to_a_verdict(want, check, case, found):
    """Status and words; each that is not ok has a fix of its own or the check's."""
    assert [f"{each.status.value} {each.observed}" for each in judged(want, check, case)] == found
    assert all(each.expected for each in judged(want, check, case) if each.status.value in ("fail", "warn"))


def test_one_odd_bios_in_a_group_is_told_on_its_host(want):
    """Compared within the group alone: control hosts may be another make."""
    machine = CHECKS["machines_equal"].needs[0]
    read = {
        case: machine.parse((RECORDED / "machine" / f"{case}.txt").read_text())
        for case in ("dell", "tsc_lost")
    }
    have = {
        "control1": read["tsc_lost"],
        "hgx01": read["dell"],
        "hgx02": read["dell"],
        "hgx03": read["tsc_lost"],
    }

    found = {each.subject: each for each in CHECKS["machines_equal"].judge(want.cluster, have)}

    assert {host: each.status.value for host, each in found.items()} == {
        "control1": "ok", "hgx01": "ok", "hgx02": "ok", "hgx03": "warn",
    }  # fmt: skip
    assert found["hgx03"].observed == "Supermicro SYS-821GE-TNHR, BIOS 2.1 of 01/05/2024, NUMA nodes: 2"
