"""An apply on real hosts: systemd, sshd, munge and Slurm, in a lab of its own."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.edge.bundler import PROVISION, program_command, program_input
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, build_context, remote_of
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.resources import File
from clusterwright.provision.roles import desired_resources

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-build", "10.78."
MISSING = able()

pytestmark = [
    pytest.mark.lab,
    pytest.mark.core,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """The lab, and what an apply of its file gives."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.write({"name": NAME})
        self.cluster = load_cluster(self.file)

    def write(self, changes):
        """The example with this lab's own name and subnets, and these values by dotted path."""
        yaml = YAML()
        document = yaml.load(LAB.read_text().replace("10.77.", SUBNETS))
        for path, value in ({"name": NAME} | changes).items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place[part]
            place[last] = value
        yaml.dump(document, self.file)

    def apply(self, changes=None, **options):
        """An apply of the file, with other values for once."""
        self.write(changes or {})
        cluster = load_cluster(self.file)
        return apply(cluster, str(self.file), remote_of(cluster), **options)

    def run(self, host, text, stdin=b""):
        """A command on a host, which must end well."""
        done = remote_of(self.cluster).run(host, text, stdin=stdin, timeout_s=60)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Five hosts, applied once; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # the key of these tests is not the user's
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            site.first = site.apply()
            site.second = site.apply()
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


def test_bare_hosts_become_a_cluster(site):
    """Everything is done on all five, and nothing that ran had to be restarted (how fast: bench/)."""
    assert (site.first.ok, site.first.restarts) == (True, 0)
    assert site.first.changed == site.first.pending > 0


def test_a_second_apply_changes_nothing(site):
    """0 changes, 0 restarts."""
    assert (site.second.ok, site.second.pending, site.second.restarts) == (True, 0, 0)


def test_jobs_run_on_every_host(site):
    """Through slurmctld, slurmd and munge, and the firewall between them."""
    hosts = sorted(site.run("control", "timeout 30 srun -N4 hostname").split())

    assert hosts == ["gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4"]


def test_a_job_has_its_gpus_and_no_others(site):
    """CUDA_VISIBLE_DEVICES says two, and the kernel denies the other two."""
    look = (
        "echo $CUDA_VISIBLE_DEVICES; for i in 0 1 2 3; do "
        'head -c1 /dev/nvidia$i 2>&1 | grep -o "not permitted"; done; true'
    )
    said = site.run("control", f"timeout 30 srun -N1 --gres=gpu:2 sh -c '{look}'").splitlines()

    assert said == ["0,1", "not permitted", "not permitted"]


def test_a_user_of_the_file_can_run_jobs(site):
    """Bob has the same id everywhere."""
    assert site.run("control", "cd / && timeout 30 runuser -u bob -- srun -N1 id -u").strip() == "6002"


def test_no_unit_has_failed(site):
    """Systemd is content on every host."""
    for host in site.cluster.hosts():
        assert site.run(host.name, "systemctl --failed --no-legend").strip() == ""


def test_strangers_are_shut_out(site):
    """Slurmd's port is open to the cluster, and not to the machine beside it."""
    port = "timeout 2 bash -c 'echo > /dev/tcp/10.78.0.11/6818' 2>/dev/null && echo open || echo shut"

    assert site.run("control", port).strip() == "open"
    assert site.run("gpu-node1", "nft list table inet clusterwright").count("policy drop") == 1


def test_a_key_of_the_wrong_owner_is_mended_and_said(site):
    """Munged would not start with it again."""
    site.run("gpu-node2", "chown root:root /etc/munge/munge.key")
    report = site.apply()

    fixed = {change.id: change.summary for host in report.hosts for change in host.changes}
    assert fixed["file:/etc/munge/munge.key"] == "owner root:root -> munge:munge"
    assert site.run(
        "gpu-node2", "stat -c %U:%G:%a /etc/munge/munge.key && munge -n | unmunge >/dev/null"
    ).split() == ["munge:munge:400"]
    assert {host.host for host in report.hosts if host.changes} == {"gpu-node2"}


def test_a_bad_file_never_reaches_a_daemon(site):
    """Slurm's own parser says no before the file is in place; the daemons go on."""
    bad = File(
        path="/etc/slurm/slurm.conf",
        content="NoSuchKey=1\n",
        validate=next(
            resource.validate
            for resource in desired_resources(
                site.cluster, site.cluster.control, build_context(site.cluster, "c")
            )
            if resource.id == "file:/etc/slurm/slurm.conf"
        ),
    )
    order = program_input(PROVISION) + bundle(Order("apply", "cluster.yaml", "1"), [bad])
    said = site.run("gpu-node4", program_command(), stdin=order)
    site.apply()

    assert "unrecognized key: NoSuchKey" in said
    assert "NoSuchKey" not in site.run("gpu-node4", "cat /etc/slurm/slurm.conf")


def test_a_host_that_is_down_is_named_and_the_others_are_finished(site):
    """Then it comes back, and the next apply brings it up to date."""
    lab.fault(NAME, "kill-host", "gpu-node3")
    try:
        report = site.apply({"slurm.kill_wait": "45s"})
    finally:
        lab.undo(NAME, "gpu-node3")
    values = [
        site.run(f"gpu-node{index}", "grep ^KillWait /etc/slurm/slurm.conf").strip() for index in (1, 3)
    ]
    later = site.apply({"slurm.kill_wait": "45s"})
    site.apply()

    assert (report.ok, report.unreached) == (False, ("gpu-node3",))
    assert values == ["KillWait=45", "KillWait=30"]
    assert [host.host for host in later.hosts if host.changes] == ["gpu-node3"]


def test_an_apply_that_was_cut_short_is_ended_by_the_next(site):
    """slurm.conf was new and slurmd still on the old one: the restart is owed, and made."""
    site.write({"slurm.ports": [60001, 62000]})
    cluster = load_cluster(site.file)
    deadly = File(path="/etc/deadly", content="x", validate=("sh", "-c", "kill -9 $PPID", "{}"))
    resources = [
        *desired_resources(cluster, cluster.host("gpu-node2"), build_context(cluster, "cluster.yaml")),
        deadly,
    ]
    order = program_input(PROVISION) + bundle(Order("apply", "cluster.yaml", "1"), resources)
    remote_of(cluster).run("gpu-node2", program_command(), stdin=order, timeout_s=60)
    report = site.apply({"slurm.ports": [60001, 62000]})
    again = site.apply({"slurm.ports": [60001, 62000]})
    site.apply()

    host = next(host for host in report.hosts if host.host == "gpu-node2")
    assert host.interrupted
    assert [change.summary for change in host.changes if change.id == "unit:slurmd.service"] == [
        "restart for file:/etc/slurm/slurm.conf"
    ]
    assert (again.pending, again.ok) == (0, True)
