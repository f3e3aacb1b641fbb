"""What the cluster file says, as Slurm and the keeper are told of it."""

import json
import subprocess
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.config.power_saving import Ipmi, LabPower
from clusterwright.config.slurm_keys import RELEASES
from clusterwright.config.slurm_keys.lint import lint
from clusterwright.onhost.power.settings import settings
from clusterwright.provision.render.power import power, power_settings
from clusterwright.provision.resources import File, Package, RoleContext
from clusterwright.provision.roles.power import SETTINGS
from clusterwright.provision.roles.power import power as role

GOLDEN = Path(__file__).parents[2] / "golden" / "power"


@pytest.fixture
def cluster():
    """Hosts with management controllers."""
    return load_cluster(GOLDEN / "cluster.yaml")


def with_provider(cluster, provider):
    """The same hosts, and another who holds the switch."""
    saving = cluster.slurm.power_saving.model_copy(update={"provider": provider})
    return cluster.model_copy(update={"slurm": cluster.slurm.model_copy(update={"power_saving": saving})})


def resources(cluster, host):
    """By kind and path."""
    return role(cluster, cluster.host(host), RoleContext())


def test_slurm_conf_and_the_keepers_settings(cluster):
    """As in the golden files; an absent host keeps its controller's address, and kept groups have none."""
    (file,) = [one for one in resources(cluster, "control") if getattr(one, "path", "") == SETTINGS]

    assert power(cluster) == (GOLDEN / "slurm.conf").read_text()
    assert (
        file.content
        == power_settings(cluster, cluster.slurm.power_saving)
        == (GOLDEN / "power.json").read_text()
    )


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_takes_every_key(cluster, release):
    """By Slurm's own tables."""
    assert lint(power(cluster), "slurm.conf", release) == ()


def test_what_is_rendered_is_what_the_keeper_reads(cluster, tmp_path):
    """Each key has its place."""
    (tmp_path / "power.json").write_text(power_settings(cluster, cluster.slurm.power_saving))
    read = settings(str(tmp_path / "power.json"))

    assert read.hosts == {
        "a1": {"bmc": "10.79.1.11"},
        "a3": {"bmc": "10.79.1.13"},
        "a4": {"bmc": "10.79.1.14"},
    }
    assert (read.provider["kind"], read.spares, read.suspend_timeout) == ("redfish", 1, 300)


def test_programs_of_slurms_are_refused_by_it_where_others_may_write(cluster):
    """Owned by root, 0755; and they are shell that a shell takes."""
    programs = [one for one in resources(cluster, "control") if isinstance(one, File) and one.mode == 0o755]

    assert {Path(one.path).name for one in programs} == {
        "power_on",
        "power_off",
        "power_failed",
        "power_joined",
    }
    for one in programs:
        assert (
            subprocess.run(("sh", "-n"), input=one.content.encode(), timeout=10, check=False).returncode == 0
        )


def test_compute_hosts_of_metal_have_nothing_of_it(cluster):
    """They say themselves when they have booted."""
    assert resources(cluster, "a1") == ()


def test_ipmi_brings_its_tool(cluster):
    """On the control host alone."""
    given = with_provider(cluster, Ipmi(kind="ipmi", bmc={"a100": "10.79.1.11"}))

    assert Package(name="ipmitool") in resources(given, "control")
    assert Package(name="ipmitool") not in resources(cluster, "control")


def test_in_a_lab_the_lab_holds_the_switch(cluster, tmp_path):
    """A file of metal may be tried as it is."""
    text = (GOLDEN / "cluster.yaml").read_text().replace("os: rocky-9\n", "") + "lab: {}\n"
    (tmp_path / "cluster.yaml").write_text(text)
    virtual = load_cluster(tmp_path / "cluster.yaml")
    told = json.loads(power_settings(virtual, virtual.slurm.power_saving))
    (drop_in,) = resources(virtual, "a1")

    assert told["provider"] == {"kind": "lab"}
    assert told["hosts"]["a1"] == {}
    assert "-b" in drop_in.content
    assert with_provider(cluster, LabPower(kind="lab"))
