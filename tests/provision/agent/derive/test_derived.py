"""Files that are worked out on the host are files like any other: shown, written once, known when they drift."""

import grp
import json
import os
import pwd
import subprocess
import sys

import pytest

from clusterwright.edge.bundler import LOADER, PROVISION, program_input
from clusterwright.onhost.provision.agent import ANSWER
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.resources import Derived, File

PATH = "/etc/nccl.conf"
ME = {"owner": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}
GIVEN = {
    "addresses": {"management": "10.10.0.1"}, "variables": {}, "topology": "", "nccl": [], "reason": "",
    "roce": {"priority": 3, "dscp": 26, "ecn": True, "cnp_dscp": 48},
    "network": {
        "name": "compute", "kind": "infiniband", "subnet": "10.20.0.0/16", "rails": 2, "gbits": 400.0, "mtu": 4092,
        "fabric": "fat-tree", "others": [], "nics": [], "group": "h100",
    },
}  # fmt: skip


@pytest.fixture
def act(kernel):
    """What the agent, sent as it is to a host, answers; the host has two InfiniBand ports."""
    kernel.link("ib0", "10.10.0.1")
    for index in range(2):
        kernel.port(f"mlx5_{index}", layer="InfiniBand")

    def act(mode, *beside, when="1", **other):
        file = Derived(path=PATH, program="nccl_conf", header="# ours\n", params={**GIVEN, **other}, **ME)
        order = Order(mode, "cluster.yaml", when, root=str(kernel.root))
        done = subprocess.run(
            [sys.executable, "-c", LOADER],
            input=program_input(PROVISION) + bundle(order, [file, *beside]),
            capture_output=True,
            check=False,
            timeout=60,
        )
        line = next(line for line in done.stdout.decode().splitlines() if line.startswith(ANSWER))
        answer = json.loads(line.removeprefix(ANSWER))
        assert answer["error"] == "", answer
        return answer

    return act


def changes(answer):
    """What and why, by id."""
    return {one["id"]: (one["summary"], one["drift"]) for one in answer["changes"]}


def test_a_second_apply_changes_nothing(act, kernel):
    """The diff shows names of this host, before anything is written."""
    looked = act("check")
    act("apply")

    assert "+NCCL_IB_HCA==mlx5_0:1,mlx5_1:1" in looked["changes"][0]["diff"]
    assert changes(looked) == {f"file:{PATH}": ("create", "new")}
    assert "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\n" in (kernel.root / "etc/nccl.conf").read_text()
    assert changes(act("apply", when="2")) == {}


def test_a_device_that_goes_away_is_the_hosts_doing(act, kernel):
    """Not the cluster file's, and nobody's hand: the plan shows which line goes."""
    act("apply")
    (kernel.root / "sys/class/infiniband/mlx5_1/ports/1/link_layer").write_text("Ethernet\n")
    answer = act("check")

    assert changes(answer) == {f"file:{PATH}": ("rewrite", "hardware")}
    assert "-NCCL_IB_HCA==mlx5_0:1,mlx5_1:1" in answer["changes"][0]["diff"]
    assert any("infiniband ports on the compute network: 1 (mlx5_0:1)" in note for note in answer["notes"])


def test_devices_that_the_apply_itself_brings_are_not_missed(act, kernel):
    """A driver that was only just loaded: the plan was shown without them, so it is for the next apply."""
    (kernel.root / "sys/class/infiniband/mlx5_1").rename(kernel.root / "hidden")
    loads = f"mv {kernel.root}/hidden {kernel.root}/sys/class/infiniband/mlx5_1"
    driver = File(path="/etc/driver", content="", validate=("sh", "-c", loads, "{}"), **ME)
    first = act("apply", driver)
    again = act("apply", driver, when="2")

    assert "/etc/nccl.conf: the host's devices changed during this apply. Run it again" in first["notes"]
    assert changes(again) == {f"file:{PATH}": ("rewrite", "hardware")}
    assert changes(act("check", driver)) == {}


def test_what_no_driver_shows_is_left_as_it_is_and_named(act, kernel):
    """The host's other changes are made."""
    act("apply")
    (kernel.root / "sys/class/infiniband/mlx5_1/ports/1/gids/0").write_text("no address\n")
    answer = act("check")

    assert changes(answer) == {}
    assert any(
        "/etc/nccl.conf is not changed, because its text cannot be computed: Addr" in one
        for one in answer["notes"]
    )


def test_a_hand_and_the_cluster_file_are_told_from_the_host(act, kernel):
    """As of any file."""
    act("apply")
    by_file = changes(act("check", variables={"NCCL_ALGO": "Tree"}))
    (kernel.root / "etc/nccl.conf").write_text("NCCL_DEBUG=INFO\n")

    assert by_file == {f"file:{PATH}": ("rewrite", "changed")}
    assert changes(act("check")) == {f"file:{PATH}": ("rewrite", "edited")}
