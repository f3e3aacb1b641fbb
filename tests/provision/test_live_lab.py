"""What a change of a field costs a running cluster is what the field says, field by field, with a job running."""

from pprint import pformat

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.field import Cost
from clusterwright.config.fields import fields
from clusterwright.config.load import source_of
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.change.fields import RANK, ClusterFile, diff_fields

NAME = "chg"
MISSING = able()
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAlQZ0bWTHJ1cNCxW2yn5iFVFOsRLu3WWJoKWS5GJ6vX alice"
BASE = """name: chg
networks:
  management: {subnet: 10.202.0.0/24, rate: 1Gbit/s}
nodes:
  control: {role: control, hosts: control, addresses: {management: 10.202.0.10}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
  old: {role: compute, hosts: "gpu-node[1-2]", addresses: {management: 10.202.0.11}, memory: 16GiB,
    cpus: {sockets: 2, cores_per_socket: 8}, gpus: {model: a100, count: 4}, switch: leaf1}
  new: {role: compute, hosts: "gpu-node3", addresses: {management: 10.202.0.21}, memory: 16GiB,
    cpus: {sockets: 2, cores_per_socket: 8}, gpus: {model: a100, count: 4}, switch: leaf1}
storage:
  shared: {kind: local, path: /shared, size: 1TB}
partitions:
  train: {nodes: [old], default: true, max_time: 1d}
  long: {nodes: [old, new], max_time: 2d}
qos:
  short: {priority: 10}
  spare: {priority: 1}
reservations:
  course: {hosts: gpu-node3, start: "2031-01-15T08:00", duration: 8h, teams: [language]}
teams:
  research: {gid: 5002}
  vision: {gid: 5000}
  language: {gid: 5001}
users:
  alice: {uid: 6001, team: language}
  bob: {uid: 6002, team: vision}
  carol: {uid: 6003, team: research}
lab: {}
"""
# Where, and the new value; a path with a name in it is a field of the section of that name.
LIVE = {
    "storage.shared.size": "2TB",
    "storage.shared.free": "2MB",
    "system.journal": "500MiB",
    "system.hold_packages": ["less"],
    "slurm.max_drained_percent": 25,
    "qos.short.priority": 20,
    "qos.short.max_time": "4h",
    "qos.short.max_gpus": 8,
    "qos.short.max_gpus_per_user": 4,
    "qos.short.max_gpus_per_job": 4,
    "qos.short.max_jobs_per_user": 10,
    "qos.spare.preempt_mode": "cancel",
    "qos.spare.grace": "2m",
    "qos.spare.teams": ["research"],
    "reservations.course.hosts": "gpu-node[2-3]",
    "reservations.course.start": "2031-01-16T08:00",
    "reservations.course.duration": "4h",
    "reservations.course.repeat": "weekly",
    "reservations.course.teams": [],
    "reservations.course.users": ["alice"],
    "reservations.course.maintenance": True,
    "teams.language.shares": 40,
    "teams.language.parent": "research",
    "teams.language.max_gpus": 6,
    "teams.language.max_gpus_per_user": 5,
    "teams.language.max_jobs": 50,
    "users.alice.additional_teams": ["vision"],
    "users.alice.ssh_keys": [KEY],
    "users.alice.admin": True,
    "users.carol.team": "language",
    "time.zone": "Asia/Shanghai",
    "jobs.variables": {"NCCL_ALGO": "Tree"},
    "environments.images": {"torch": "/shared/images/torch"},
    "environments.scratch": "/scratch",
    "environments.caches.shared": "/shared/caches",
    "environments.caches.local": "/var/tmp/caches",
    "environments.modules": "environment-modules",
    "environments.python": {"seeing": {"team": "vision", "path": "/shared/envs/seeing"}},
    "security.ssh_from": ["10.202.0.0/24"],
    "security.password_login": True,
}
RECONFIGURE = {
    "partitions.long.headroom_percent": 25,
    "slurm.node_timeout": "90s",
    "slurm.kill_wait": "45s",
    "slurm.power_saving.idle": "1h",
    "slurm.power_saving.suspend": "/usr/bin/true",
    "slurm.power_saving.resume": "/usr/bin/false",
    "slurm.power_saving.resume_timeout": "10m",
    "slurm.power_saving.suspend_timeout": "3m",
    "slurm.power_saving.exclude": ["old"],
    "partitions.train.nodes": ["old", "new"],
    "partitions.train.default": False,
    "partitions.long.default": True,
    "partitions.train.max_time": "2d",
    "partitions.train.default_time": "1h",
    "partitions.train.priority": 10,
    "partitions.train.gpus_per_node": 2,
    "partitions.train.max_nodes": 2,
    "partitions.train.exclusive": True,
    "partitions.train.cpus_per_gpu": 2,
    "partitions.train.memory_per_gpu": "2GiB",
    "partitions.train.teams": ["vision", "research"],
    "partitions.train.qos": ["short", "normal"],
    "accounting.half_life": "7d",
    "environments.containers": ["oci"],
}
RESTART = {
    "software.python": "/usr/bin/python3",
    "system.governor": "as-is",
    "system.swap": True,
    "time.servers": ["ntp.example.org"],
    "monitoring.node_exporter": False,
    "monitoring.exporter": False,
    "security.firewall_program": "firewalld",
    "security.login": "free",
    "nodes.old.memory_reserved": "2GiB",
    "nodes.new.switch": "leaf2",
    "slurm.health": False,
    "slurm.ports": [60501, 61000],
    "slurm.options": {"BatchStartTimeout": "60"},
    "accounting.retention": "365d",
    "software.repositories": {"site": {"url": "file:///srv/packages", "unsigned": True}},
}
# After the other program of the firewall has been tried.
LAST = {
    "qos.short.preempts": ["spare"],
    "slurm.topology": "none",
    "slurm.configless": True,
    "security.firewall": False,
}
TRIED = {"live": LIVE, "reconfigure": RECONFIGURE, "restart": RESTART, "restart, the last": LAST}
LEFT_OUT = {
    "ssh.user": "how we reach the hosts, nothing on them",
    "ssh.config": "how we reach the hosts, nothing on them",
    "ssh.port": "a lab's own ssh_config names the port",
    "networks.management.mtu": "a lab's links are made by `lab up`",
    "networks.compute.mtu": "a lab's links are made by `lab up`",
    "networks.storage.mtu": "a lab's links are made by `lab up`",
    "nodes.NAME.firmware.virtual_functions": "checks hold hosts against it; nothing is written",
    "nodes.NAME.firmware.numa_per_socket": "checks hold hosts against it; nothing is written",
    "nodes.NAME.nics": "test_rdma_lab.py",
    "nodes.NAME.os": "the hosts of a lab run one system; test_mixed_systems.py",
    "security.isolate_users": "test_isolation_lab.py",
    **dict.fromkeys(
        (
            f"{place}.quota.{whose}"
            for place in ("nodes.NAME.disks[]", "storage.NAME")
            for whose in ("user", "team")
        ),
        "a lab's hosts have no disks of their own: tests/provision/agent/storage",
    ),
    "system.sysctl": "the hosts of a lab may not set kernel settings: tests/provision/roles/test_kernel.py",
    "object_storage.endpoint": "only jobs read it: tests/launch/test_environment.py",
    "object_storage.region": "only jobs read it: tests/launch/test_environment.py",
    "rdma.switch_mtu": "the file is held against it; nothing is written",
    "rdma.topology_file": "a lab's PCI tree has no GPU: tests/provision/agent/derive",
    "rdma.mpi": "test_rdma_lab.py",
    "rdma.mpi_default": "test_rdma_lab.py",
    "manage": "tests/provision/test_manage.py",
    "slurm.defaults": "tests/adopt",
    "slurm.files": "tests/adopt",
    "nodes.NAME.options": "tests/adopt",
    "partitions.NAME.options": "tests/adopt",
    "qos.NAME.options": "tests/adopt",
    "teams.NAME.options": "tests/adopt",
    "slurm.block_size": "the lab's Slurm has no block topology",
    **dict.fromkeys(
        (
            f"slurm.power_saving.{name}"
            for name in (
                "spares",
                "max_attempts",
                "retry_after",
                "provider.kind",
                "provider.on",
                "provider.off",
                "provider.state",
                "provider.bmc",
                "provider.user",
                "provider.password_file",
                "provider.certificate",
                "provider.authority",
            )
        ),
        "of the keeper on the control host: test_bursts_lab.py",
    ),
    "software.slurm": "test_upgrade_lab.py",
    "software.slurm_packages": "a lab has the distribution's",
    "software.bundle.path": "tried as a whole on hosts without a network (test_package_bundle_lab.py)",
    "software.bundle.sha256": "tried as a whole on hosts without a network (test_package_bundle_lab.py)",
    "software.repositories.NAME.os": "the hosts of a lab run one system; test_mixed_systems.py",
    "software.repositories.NAME.suite": "a repository as a whole is tried",
    "software.repositories.NAME.components": "a repository as a whole is tried",
    "software.repositories.NAME.key": "a repository as a whole is tried",
    "software.repositories.NAME.unsigned": "a repository as a whole is tried",
    "software.repositories.NAME.url": "a repository as a whole is tried",
    **dict.fromkeys(
        (
            f"environments.python.NAME.{name}"
            for name in ("team", "owner", "path", "kind", "program", "packages", "requirements", "wheels")
        ),
        "an environment as a whole is tried; test_environments_lab.py",
    ),
    "accounting.enabled": "a cluster that stops counting: test_accounting_lab.py",
    "accounting.gpu_hour": "reports read it; nothing is written",
    "accounting.currency": "reports read it; nothing is written",
    **dict.fromkeys(
        (
            *(
                f"monitoring.{name}"
                for name in (
                    "prometheus",
                    "retention",
                    "grafana",
                    "notify",
                    "language",
                    "runbook_url",
                    "external_url",
                )
            ),
            *(
                f"monitoring.receivers.NAME.{name}"
                for name in (
                    "severity",
                    "kind",
                    "to",
                    "sender",
                    "server",
                    "host",
                    "user",
                    "secret_file",
                    "tls",
                    "url",
                )
            ),
        ),
        "of the programs that watch, which no job needs: tests/monitor/test_alerts_lab.py",
    ),
    **dict.fromkeys(
        (
            f"heal.{name}"
            for name in (
                "mode",
                "allow",
                "watch",
                "max_unavailable_percent",
                "max_attempts",
                "window",
                "pause",
                "poll_interval",
                "check_interval",
                "action_timeout",
                "spares",
                "program",
            )
        ),
        "of the program that fixes, which no job needs: tests/heal/test_heal_lab.py",
    ),
    "lab.rate_divisor": "of the lab, not of the cluster in it",
    "lab.environment": "of the lab, not of the cluster in it",
}
SLURM = "systemctl show --property=MainPID,ActiveEnterTimestampMonotonic slurmctld slurmd munge 2>/dev/null"


def in_schema(path):
    """The path with NAME for the name of a section: qos.NAME.priority."""
    first, *rest = path.split(".")
    return ".".join([first, "NAME", *rest[1:]] if first in BY_NAME else [first, *rest])


def test_every_field_is_tried_or_left_out_with_a_reason():
    """A new field that claims to be cheap has to be put to the test here."""
    cheap = {Cost.LIVE, Cost.RECONFIGURE, Cost.RESTART}
    rows = [row for row in fields("cluster") if Cost(row.cost) in cheap and "section" not in row.takes]
    tried = {in_schema(path) for group in TRIED.values() for path in group}

    assert {row.path for row in rows} - tried - set(LEFT_OUT) == set()
    assert tried & set(LEFT_OUT) == set()


BY_NAME = {"nodes", "storage", "partitions", "qos", "reservations", "teams", "users"}
lab_only = [
    pytest.mark.lab,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """Four hosts, their file, and what an apply of a changed file did."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.file.write_text(BASE)
        self.remote = remote_of(self.said().cluster)

    def said(self):
        """What the file says now."""
        return ClusterFile.from_source(source_of(self.file))

    def run(self, host, text, stdin=b""):
        """A command on a host, which must end well."""
        done = self.remote.run(host, text, stdin=stdin, timeout_s=60)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out

    def change(self, values):
        """The file with these values, and the report of its apply."""
        yaml = YAML()
        document = yaml.load(self.file)
        before = self.said()
        for path, value in values.items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place.setdefault(part, {})
            place[last] = value
        yaml.dump(document, self.file)
        after = self.said()
        return diff_fields(before, after), apply(after.cluster, str(self.file), self.remote)

    def daemons(self):
        """Process and start of each of Slurm's daemons."""
        return {host.name: self.run(host.name, SLURM) for host in self.said().cluster.hosts()}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Up and applied; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.said().cluster)
            report = apply(site.said().cluster, str(site.file), site.remote)
            assert report.ok, [(host.host, host.error, host.left_out) for host in report.hosts if not host.ok]
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


def dearer(report, cost):
    """Changes that cost more than the fields said."""
    return sorted({
        f"{change.id}: {change.summary} [{change.cost}]"
        for host in report.hosts
        for change in host.changes
        if RANK[change.cost] > RANK[cost]
    })  # fmt: skip


@pytest.mark.parametrize("mark", [pytest.param("", marks=lab_only)])
def test_what_a_field_claims_is_true_of_running_jobs(site, heart, mark):
    """Fields by their cost, cheap ones first: job, processes and heartbeat go on, and no change is dearer."""
    beating = heart(site.run)
    found = {}
    for name, values in TRIED.items():
        cost = Cost(name.split(",")[0])
        daemons = site.daemons()
        fields_changed, report = site.change(values)
        said = {change.path: change.cost for change in fields_changed if RANK[change.cost] > RANK[cost]}
        errors = {host.host: host.error for host in report.hosts if host.error}
        stayed = cost is Cost.RESTART or site.daemons() == daemons
        rows = [
            errors,
            said,
            dearer(report, cost),
            beating.faults(),
            [] if stayed else [daemons, site.daemons()],
        ]
        found |= {name: [row for row in rows if row]} if any(rows) else {}
        assert report.pending, f"{values} changed nothing"
    beating.end()

    assert found == {}, pformat(found, width=160)
    assert (
        sorted(site.run("control", "cd / && timeout 60 runuser -u bob -- srun -p train -N2 hostname").split())
        != []
    )
