"""What a failed check finds comes to heal as codes; its texts could be any."""

from dataclasses import replace
from pathlib import Path

import pytest

from clusterwright.check.checks.gpu_xids import gpu_xids
from clusterwright.check.checks.gpus_answer import gpus_answer
from clusterwright.check.checks.services import services
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import gpus
from clusterwright.check.facts.kernel_log import KernelLog
from clusterwright.check.facts.units import required_units
from clusterwright.check.judging import _named
from clusterwright.check.kernel.lines import KernelLine
from clusterwright.config.load import load_cluster
from clusterwright.heal.loop.gather import of_verdicts
from clusterwright.heal.rule import rule_for, rules

HGX = Path(__file__).parents[3] / "examples" / "hgx" / "cluster.yaml"
GPUS = Path(__file__).parents[2] / "check" / "facts" / "gpus"


@pytest.fixture(scope="module")
def want():
    """A host with GPUs."""
    cluster = load_cluster(HGX)
    return HostSpec(cluster, next(host for host in cluster.hosts() if host.group.gpus))


def codes_and_rules(check, *read):
    """What heal finds in what the check says of the host, with every text of it replaced."""
    verdicts = [
        replace(each, observed="...", expected="...", fix="...")
        for each in _named(check, check.judge(*read), "n1")
    ]
    found = of_verdicts(verdicts)
    return [(each.code, rule.name if (rule := rule_for(each, rules())) else "") for each in found]


@pytest.mark.parametrize(
    ("recorded", "code", "rule"),
    [
        ("driver_hangs", "gpus_answer:no-answer", "gpu_driver"),
        ("driver_mismatch", "gpus_answer:driver-mismatch", "gpu_driver"),
        ("one_lost", "gpus_answer", "gpu_lost"),
    ],
)
def test_a_driver_that_hangs_is_no_lost_gpu_in_whatever_words(want, recorded, code, rule):
    """A lost GPU is believed at once and the host rebooted; a slow driver has four polls of patience."""
    have = gpus.parse((GPUS / f"{recorded}.txt").read_text())

    assert codes_and_rules(gpus_answer, want, have) == [(code, rule)]


@pytest.mark.parametrize(("number", "rule"), [(79, "gpu_lost"), (64, "gpu_replace"), (48, "gpu_reset")])
def test_an_xid_is_a_code(want, number, rule):
    """`xid-79`, whatever the check writes of it."""
    line = KernelLine(10.0, 3, f"NVRM: Xid (PCI:0000:3b:00): {number}, pid=1, GPU has fallen off the bus.")
    have = KernelLog(20.0, container=False, source="dmesg", lines=(line,), left_out=0, minors={})

    assert codes_and_rules(gpu_xids, want, have) == [(f"gpu_xids:xid-{number}", rule)]


def test_each_service_is_found_by_its_unit(want):
    """Munge and slurmd have rules of their own."""
    have = dict.fromkeys(required_units(want), "active (running)")
    have |= {"munge.service": "failed (failed)", "slurmd.service": "inactive (dead)"}

    assert codes_and_rules(services, want, have) == [
        ("services:munge.service", "munge"),
        ("services:slurmd.service", "slurmd"),
    ]
