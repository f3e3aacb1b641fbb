"""Each role: what a host must have, as plain values."""

import pytest

from clusterwright.config.field import Cost
from clusterwright.provision.resources import Directory, File, Module, Package, Unit, User
from clusterwright.provision.roles import desired_resources, roles
from clusterwright.provision.roles.ceph import ceph_source
from clusterwright.provision.roles.lustre import lustre_source
from clusterwright.provision.roles.nfs_client import nfs_source


@pytest.fixture
def by_id(cluster, given):
    """Resources of a host by id."""
    return lambda host, of=cluster: {
        resource.id: resource for resource in desired_resources(of, of.host(host), given)
    }


def test_a_file_in_the_folder_is_a_role():
    """The function has the module's name; munge comes before Slurm, which needs it."""
    names = list(roles())

    assert {
        "base",
        "clock",
        "kernel",
        "munge",
        "slurm",
        "packet_filter",
        "shared_folders",
        "training",
    } <= set(names)
    assert names.index("munge") < names.index("slurm") < names.index("packet_filter")


def test_two_roles_never_contradict_each_other(cluster, given):
    """Every host of the example, with all ids distinct."""
    for host in cluster.hosts():
        ids = [resource.id for resource in desired_resources(cluster, host, given)]
        assert len(ids) == len(set(ids))


def test_what_restarts_a_unit_exists(cluster, given):
    """A wrong name in restart_on would never restart anything."""
    for host in cluster.hosts():
        resources = desired_resources(cluster, host, given)
        ids = {resource.id for resource in resources}
        for unit in resources:
            if isinstance(unit, Unit):
                assert set(unit.restart_on) <= ids, unit


def test_users_have_their_ids_and_admins_sudo(by_id):
    """Alice is an admin, bob is not."""
    found = by_id("gpu-node1")

    assert found["user:bob"] == User(name="bob", uid=6002, group="vision", not_in=("language",))
    assert "alice ALL=" in found["file:/etc/sudoers.d/clusterwright"].content
    assert "bob" not in found["file:/etc/sudoers.d/clusterwright"].content


def test_keys_of_the_file_do_not_replace_the_users_own(by_id, altered):
    """They lie in a folder of root's, and sshd looks in both places."""
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExampleExampleExampleExampleEx bob"
    found = by_id("control", altered({"users.bob.ssh_keys": [key]}))

    assert found["file:/etc/ssh/authorized_keys.d/bob"].content.splitlines()[1] == key
    settings = found["file:/etc/ssh/sshd_config.d/00-clusterwright.conf"].content
    assert (
        "AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2 /etc/ssh/authorized_keys.d/%u"
        in settings
    )


def test_the_munge_key_is_for_munge_alone(by_id, given):
    """And a change of it is no small thing."""
    key = by_id("gpu-node1")["file:/etc/munge/munge.key"]

    assert (key.owner, key.group, key.mode, key.secret) == ("munge", "munge", 0o400, "munge.key")
    assert key.content == given.secrets["munge.key"]
    assert key.cost is Cost.DRAIN


@pytest.mark.parametrize(
    ("host", "runs", "not_runs"), [("control", "slurmctld", "slurmd"), ("gpu-node1", "slurmd", "slurmctld")]
)
def test_each_host_runs_the_daemon_of_its_role(by_id, host, runs, not_runs):
    """The same files, another daemon, restarted when any of them changes."""
    found = by_id(host)

    assert f"unit:{not_runs}.service" not in found
    assert {"file:/etc/slurm/slurm.conf", "file:/etc/slurm/gres.conf", "file:/etc/munge/munge.key"} <= set(
        found[f"unit:{runs}.service"].restart_on
    )


def test_slurm_parses_its_file_before_it_is_in_place(by_id):
    """A key that it does not know is fatal to every daemon of the cluster."""
    assert by_id("control")["file:/etc/slurm/slurm.conf"].validate[:2] == ("env", "SLURM_CONF={}")


def test_a_clock_that_is_not_ours_is_only_watched(by_id, real):
    """-x in a lab; on real hosts Debian's own options."""
    assert "-x" in by_id("control")["file:/etc/default/chrony"].content
    assert "file:/etc/default/chrony" not in by_id("control", real)


def test_sruns_ports_are_kept_from_others(by_id):
    """Part of them lies in the range that Linux gives to any connection."""
    found = by_id("control")

    assert found["sysctl:net.ipv4.ip_local_reserved_ports"].value == "60001-63000"
    assert (
        "net.ipv4.ip_local_reserved_ports = 60001-63000"
        in found["file:/etc/sysctl.d/60-clusterwright.conf"].content
    )


def test_every_kernel_setting_has_its_reason(by_id):
    """A comment stands right above each."""
    lines = by_id("gpu-node1")["file:/etc/sysctl.d/60-clusterwright.conf"].content.splitlines()

    settings = [index for index, line in enumerate(lines) if " = " in line]
    assert settings
    assert all(lines[index - 1].startswith("# ") for index in settings)


def test_runs_are_kept_on_the_shared_folder(by_id):
    """Made once, on the control host, open to all as /tmp is; never where nothing is mounted."""
    assert by_id("control")["directory:/shared/runs"] == Directory(
        path="/shared/runs", mode=0o1777, parents=False
    )
    assert "directory:/shared/runs" not in by_id("gpu-node1")


def test_nfs_is_served_by_one_and_mounted_by_the_others(by_id, altered):
    """Over the storage network, which the server is on."""
    folder = {"kind": "nfs", "path": "/shared", "server": "control", "export": "/srv/shared"}
    nfs = altered({"storage.shared": folder, "lab": None})

    assert "10.77.2.0/24(rw" in by_id("control", nfs)["file:/etc/exports.d/clusterwright.exports"].content
    assert "Options=bind" in by_id("control", nfs)["file:/etc/systemd/system/shared.mount"].content
    mounted = by_id("gpu-node1", nfs)
    assert "What=control-storage:/srv/shared" in mounted["file:/etc/systemd/system/shared.mount"].content
    assert mounted["unit:shared.mount"].restart_on == ("file:/etc/systemd/system/shared.mount",)
    assert Package(name="nfs-common") in mounted.values()


def test_a_sites_own_storage_is_mounted(altered):
    """What mount(8) is given."""
    folders = {
        "work": {"kind": "lustre", "path": "/work", "servers": ["mgs1", "mgs2"], "filesystem": "work"},
        "ceph": {"kind": "ceph", "path": "/ceph", "monitors": ["mon1", "mon2"]},
        "filer": {"kind": "nfs", "path": "/filer", "server": "filer"},
    }
    cluster = altered({"storage": folders, "lab": None})

    assert lustre_source(cluster, cluster.storage["work"]) == "mgs1@tcp:mgs2@tcp:/work"
    assert ceph_source(cluster.storage["ceph"]) == "mon1,mon2:/"
    assert nfs_source(cluster, cluster.storage["filer"]) == "filer:/filer"


def test_what_is_switched_off_is_not_there(by_id, altered):
    """No firewall, no exporter of either kind."""
    off = altered({
        "security.firewall": False, "monitoring.node_exporter": False, "monitoring.exporter": False,
    })  # fmt: skip

    assert not [name for name in by_id("control", off) if "firewall" in name or "exporter" in name]


def test_metrics_are_for_the_management_network(by_id):
    """Not for every address that the host has."""
    settings = by_id("gpu-node1")["file:/etc/default/prometheus-node-exporter"]

    assert "--web.listen-address=10.77.0.11:9100" in settings.content


def test_jobs_find_our_code(by_id):
    """Where the launcher looks for it."""
    assert by_id("gpu-node1")["file:/opt/clusterwright/lib/clusterwright/__init__.py"] == File(
        path="/opt/clusterwright/lib/clusterwright/__init__.py", content="VALUE = 1\n"
    )


def test_no_role_of_the_example_loads_a_module(by_id):
    """A lab shares the machine's kernel."""
    assert not [resource for resource in by_id("gpu-node1").values() if isinstance(resource, Module)]
