"""NVLink's XIDs on several hosts of one domain are one fault of the domain."""

from pathlib import Path

import pytest

from clusterwright.check.checks.nvlink_domain_complete import nvlink_domain_complete
from clusterwright.check.facts.kernel_log import KernelLog
from clusterwright.check.judging import judge
from clusterwright.check.kernel.lines import KernelLine
from clusterwright.check.reading import HostReach, Reading
from clusterwright.config.load import load_cluster

EXAMPLE = Path(__file__).parents[2] / "examples/hgx/cluster.yaml"
NOW_S = 1_700_000_000.0


def log(*xids):
    """A kernel's log with these XIDs: number, and seconds ago."""
    lines = tuple(
        KernelLine(
            NOW_S - ago_s, 3, f"NVRM: Xid (PCI:0000:01:00): {number}, pid='<unknown>', name=<unknown>, Fatal"
        )
        for number, ago_s in xids
    )
    return KernelLog(NOW_S, False, "journal", lines, 0, {})


@pytest.mark.parametrize(
    ("logs", "domains", "found"),
    [
        (
            [log((149, 60)), log((145, 70)), log()],
            ["a.1"] * 3,
            ["Xid 144 to 150 at the same time on hgx01, hgx02"],
        ),
        ([log((149, 60)), log((145, 7000)), log()], ["a.1"] * 3, []),
        ([log((149, 60)), log((145, 70)), log()], ["a.1", "b.1", "a.1"], []),
        ([log((149, 60)), log((145, 70)), log()], [""] * 3, []),
        ([log((31, 60)), log((31, 60)), log()], ["a.1"] * 3, []),
        ([log((149, 60), (150, 50)), log(), log()], ["a.1"] * 3, []),
    ],
    ids=["together", "hours_apart", "two_domains", "no_domain", "no_nvlink", "one_host"],
)
def test_hosts_of_a_domain_that_tell_at_once_are_told_together(logs, domains, found):
    """Once, of the cluster, with the domain as the part; one host's own fault is gpu_xids' to tell."""
    cluster = load_cluster(EXAMPLE)
    hosts = [host.name for host in cluster.hosts("compute")][:3]
    readings = {
        host: Reading(HostReach(), {"kernel_log": said, "nvl_domain": domain})
        for host, said, domain in zip(hosts, logs, domains, strict=True)
    }

    verdicts = judge(cluster, [nvlink_domain_complete], readings)

    assert [v.observed for v in verdicts if v.status == "fail"] == found
    assert {v.subject for v in verdicts} == ({cluster.name} if found else set(hosts))
    assert not found or (verdicts[0].part, "nvidia-imex" in verdicts[0].fix) == ("NVLink domain a.1", True)
