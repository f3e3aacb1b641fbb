"""Slurm's role: who has which file, what a change of it restarts, and what is tried before."""

import re

import pytest

from clusterwright.config.field import Cost
from clusterwright.onhost.provision.files import is_gentle
from clusterwright.provision.resources import BANNER, Directory, File, RoleContext, Trial, Unit
from clusterwright.provision.roles.slurm import slurm

GIVEN = RoleContext()


@pytest.fixture
def of(cluster):
    """Resources of a host by id, under other settings or another release."""

    def resources(host, version="22.05", given=GIVEN, **changes):
        software = cluster.software.model_copy(update={"slurm": version})
        settings = cluster.slurm.model_copy(update=changes)
        other = cluster.model_copy(update={"software": software, "slurm": settings})
        return {found.id: found for found in slurm(other, other.host(host), given)}

    return resources


def cost(before, after):
    """What the agent would call a change of slurm.conf."""
    file = after["file:/etc/slurm/slurm.conf"]
    old = before[file.id].content
    assert old != file.content
    return Cost.RECONFIGURE if is_gentle(file.gentle, old.encode(), file.content.encode()) else file.cost


@pytest.mark.parametrize(
    ("version", "changes", "expected"),
    [
        ("22.05", {"kill_wait": 60}, Cost.RECONFIGURE),
        ("22.05", {"node_timeout": 90}, Cost.RECONFIGURE),
        (
            "22.05",
            {"options": {"MinJobAge": "60", "SchedulerParameters": "bf_interval=60"}},
            Cost.RECONFIGURE,
        ),
        ("22.05", {"ports": (50001, 51000)}, Cost.RESTART),
        ("22.05", {"topology": "none"}, Cost.RESTART),
        ("22.05", {"options": {"MaxJobCount": "20000"}}, Cost.RESTART),
        ("23.11", {"kill_wait": 60}, Cost.RECONFIGURE),
        ("23.11", {"ports": (50001, 51000)}, Cost.RECONFIGURE),
        ("23.11", {"options": {"MaxJobCount": "20000"}}, Cost.RECONFIGURE),
        ("23.11", {"configless": True}, Cost.RESTART),
    ],
)
def test_a_reload_covers_what_the_release_takes_up(of, version, changes, expected):
    """Before 23.11 the keys that its manual does not mark; since then nearly all."""
    assert cost(of("control", version), of("control", version, **changes)) is expected


def test_a_partition_more_is_a_reload_and_a_host_more_is_not(cluster, altered):
    """22.05 restarts all its daemons for a new node line; 23.11 reads it again."""
    more = altered({"partitions.short": {"nodes": ["a100"], "max_time": "1h"}})
    grown = altered({"nodes.a100.hosts": "gpu-node[1-5]"})
    before = {found.id: found for found in slurm(cluster, cluster.control, GIVEN)}

    def after(other):
        return {found.id: found for found in slurm(other, other.control, GIVEN)}

    assert cost(before, after(more)) is Cost.RECONFIGURE
    assert cost(before, after(grown)) is Cost.RESTART


def test_another_header_restarts_nothing(of):
    """Comments alone differ: a reload covers that, in all of Slurm's files."""
    for file in of("gpu-node1").values():
        if isinstance(file, File):
            other = file.content.replace(BANNER, "another header")
            assert other != file.content, file.path
            assert is_gentle(file.gentle, other.encode(), file.content.encode()), file.path


def test_a_host_that_joins_changes_no_gres_conf_of_others(cluster, altered):
    """A change of gres.conf wants an empty host, so it holds the host's own GPUs alone."""
    grown = altered({"nodes.a100.hosts": "gpu-node[1-5]"})

    def gres(of):
        found = {one.id: one for one in slurm(of, of.host("gpu-node1"), GIVEN)}
        return found["file:/etc/slurm/gres.conf"]

    assert gres(cluster) == gres(grown)
    assert gres(cluster).cost is Cost.DRAIN
    assert "NodeName" not in gres(cluster).content


def test_the_daemon_is_tried_on_all_files_before_the_first_changes(of):
    """One of slurmctld on the control host, of slurmd on compute hosts."""
    for host, daemon in (("control", "slurmctld"), ("gpu-node1", "slurmd")):
        found = of(host)
        trial = found[f"trial:{daemon}"]
        files = {each for each in found if each.startswith("file:/etc/slurm/")}
        assert set(trial.files) == files
        assert trial.argv[-3:] == (daemon, "{}", host)


def test_hosts_that_fetch_their_files_hold_none(of):
    """The control host ships them; slurmd is told where, and its unit starts without a slurm.conf."""
    found = of("gpu-node1", configless=True)

    assert not [each for each in found if each.startswith("file:/etc/slurm/")]
    assert not [each for each in found.values() if isinstance(each, Trial)]
    assert Directory(path="/etc/slurm") not in found.values()
    assert '--conf-server control:6817"' in found["file:/etc/default/slurmd"].content
    unit = found["file:/etc/systemd/system/slurmd.service.d/clusterwright.conf"]
    assert "[Unit]\nConditionPathExists=\n" in unit.content
    control = of("control", configless=True)
    assert "SlurmctldParameters=enable_configless" in control["file:/etc/slurm/slurm.conf"].content
    assert "NodeName=gpu-node[1-4] Name=gpu" in control["file:/etc/slurm/gres.conf"].content


def test_what_a_reload_does_not_cover_restarts_hosts_that_fetch(of):
    """They hold no file that could differ, so a digest of what counts stands in slurmd's options."""

    def options(**changes):
        return of("gpu-node1", configless=True, **changes)["file:/etc/default/slurmd"].content

    assert options() == options(kill_wait=60)
    assert options() != options(ports=(50001, 51000))
    assert options() != options(cgroup="v1")


def test_slurmctld_is_asked_by_command(of):
    """By a signal, 21.08 and 22.05 keep their partitions as they were, and send nothing to hosts that fetch."""
    unit = of("control")["file:/etc/systemd/system/slurmctld.service.d/clusterwright.conf"].content

    assert re.search(r"^ExecReload=\nExecReload=/usr/bin/scontrol reconfigure$", unit, re.MULTILINE)


@pytest.mark.parametrize(("version", "name"), [("24.11", "topology.conf"), ("25.05", "topology.yaml")])
def test_the_network_is_told_in_the_file_that_the_release_reads(of, version, name):
    """And in no other: a topology.conf beside a topology.yaml is not read."""
    names = {each.rpartition("/")[2] for each in of("control", version) if "topology" in each}

    assert names == {name}


def test_units_name_files_that_are_there(of):
    """A wrong name in restart_on would never restart anything; munge's key is of another role."""
    for host in ("control", "gpu-node1"):
        for configless in (False, True):
            found = of(host, configless=configless)
            for unit in found.values():
                if isinstance(unit, Unit):
                    assert set(unit.restart_on) - {"file:/etc/munge/munge.key"} <= set(found)
