"""Whether adapters mark and keep RoCE as the file says, judged on recorded answers; and how they are asked."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.check.checks.roce_settings_applied import roce_settings_applied
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.roce_settings import roce_settings
from clusterwright.check.verdict import Status
from clusterwright.config.load import load_cluster
from clusterwright.edge import bundler

ROOT = Path(__file__).parents[2]
FACTS = Path(__file__).parent / "facts" / "roce_settings"


@pytest.fixture
def judged(tmp_path):
    """The verdicts on a recorded host, with this rdma section."""

    def judge(case, rdma="{}"):
        text = (ROOT / "examples/lab/cluster.yaml").read_text().partition("\n# This section makes")[0]
        (tmp_path / "cluster.yaml").write_text(f"{text}\nrdma: {rdma}\n")
        cluster = load_cluster(tmp_path / "cluster.yaml")
        have = roce_settings.parse((FACTS / f"{case}.txt").read_text())
        return list(roce_settings_applied.judge(HostSpec(cluster, cluster.host("gpu-node1")), have))

    return judge


def test_adapters_that_are_as_wanted(judged):
    """Each is a verdict of its own."""
    found = judged("ofed_two")

    assert [each.status for each in found] == [Status.OK] * 2
    assert found[0].expected == "PFC and ECN on priority 3, DSCP 26 (rdma.roce)"


def test_an_adapter_that_came_up_without_its_settings_is_named(judged):
    """As after a reset of the driver, which forgets them."""
    good, bad = judged("inbox_one_reset")

    assert good.status == Status.OK
    assert bad.status == Status.FAIL
    assert bad.observed == (
        "mlx5_1:1: priorities with PFC: none; DSCP 26 is mapped to no priority: its packets get that of "
        "their VLAN tag; RDMA connections have ToS 0 instead of that of DSCP 26"
    )


@pytest.mark.parametrize(
    ("rdma", "saw"),
    [
        (
            "{roce: {priority: 4}}",
            "priorities with PFC: 3; DSCP 26 has priority 3; ECN is off for priority 4",
        ),
        ("{roce: {ecn: false}}", "ECN is on for priority 3"),
        ("{roce: {cnp_dscp: 46}}", "congestion notifications have DSCP 48 instead of 46"),
    ],
)
def test_another_word_in_the_file_is_another_verdict(judged, rdma, saw):
    """Both sides are said."""
    found = judged("ofed_two", rdma)

    assert {each.status for each in found} == {Status.FAIL}
    assert found[0].observed == f"mlx5_0:1: {saw}"


@pytest.mark.parametrize(("case", "saw"), [("no_dcb", "prints nothing"), ("none", "lists no RoCE port")])
def test_what_cannot_be_seen_is_unknown(judged, case, saw):
    """Never green: the tool is missing, or `apply` has not been there."""
    (found,) = judged(case)

    assert found.status == Status.UNKNOWN
    assert saw in found.observed


def test_the_probe_reads_what_driver_and_tool_say(tmp_path, monkeypatch):
    """From files in the form of the kernel's, and dcb's answers as dcb-pfc(8) and dcb-app(8) show them."""
    (tmp_path / "ports").write_text("# NETWORK DEVICE PORT INTERFACE MTU\ncompute mlx5_0 1 rail0 9000\n")
    for path, text in {
        "sys/class/net/rail0/mtu": "9000",
        "sys/class/net/rail0/ecn/roce_np/enable/3": "1",
        "sys/class/net/rail0/ecn/roce_rp/enable/3": "1",
        "sys/class/net/rail0/ecn/roce_np/cnp_dscp": "48",
        "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos": "106",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{text}\n")
    pauses = "prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off"
    answer = f'#!/bin/sh\ncase "$*" in *pfc*) echo "{pauses}" ;; *) echo "dscp-prio 24:3 26:3 48:6" ;; esac\n'
    (tmp_path / "dcb").write_text(answer)
    (tmp_path / "dcb").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    source = bundler.probe("roce")
    argv = [sys.executable, "-I", "-S", "-c", source, str(tmp_path / "ports"), str(tmp_path)]
    out = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    (port,) = roce_settings.parse(out)

    assert len(json.loads(out)) == 1
    assert (port.name, port.paused, port.ecn, port.cnp_dscp) == ("mlx5_0:1", (3,), (3,), 48)
    assert (port.priorities[26], port.tos, port.mtu) == (3, 106, 9000)
