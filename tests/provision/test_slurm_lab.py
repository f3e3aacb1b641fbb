"""Slurm on real hosts: what a reload takes up, hosts that fetch their files, and files that its daemons refuse."""

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.render.slurm_gentle import BY_RELOAD

NAME = "slu"
MISSING = able()
BASE = """name: slu
networks:
  management: {subnet: 10.203.0.0/24, rate: 1Gbit/s}
nodes:
  control: {role: control, hosts: control, addresses: {management: 10.203.0.10}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
  a100: {role: compute, hosts: "gpu-node[1-2]", addresses: {management: 10.203.0.11}, memory: 16GiB,
    cpus: {sockets: 2, cores_per_socket: 8}, gpus: {model: a100, count: 4, nvlink: true}, switch: leaf1}
storage:
  shared: {kind: local, path: /shared}
slurm: {node_timeout: 15s}
partitions:
  train: {nodes: [a100], default: true, max_time: 1d}
accounting: {enabled: false}
teams:
  language: {gid: 5001}
users:
  alice: {uid: 6001, team: language}
lab: {}
"""
# A value that differs from ours, for each key that we call gentle and that 22.05 has and a site may set.
OPTIONS = {
    "BatchStartTimeout": "181",
    "EnforcePartLimits": "ANY",
    "HealthCheckInterval": "301",
    "HealthCheckNodeState": "ANY",
    "JobRequeue": "0",
    "LaunchParameters": "test_exec",
    "MailProg": "/bin/true",
    "MessageTimeout": "11",
    "MinJobAge": "3601",
    "PrologEpilogTimeout": "301",
    "PropagateResourceLimitsExcept": "CORE",
    "RebootProgram": "/usr/sbin/shutdown",
    "ReturnToService": "1",
    "SchedulerParameters": "bf_interval=33",
    "TreeWidth": "17",
    "UnkillableStepTimeout": "91",
}

pytestmark = [
    pytest.mark.lab,
    pytest.mark.core,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """Three hosts, their file, and a job that runs on both compute hosts all the while."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.file.write_text(BASE)
        self.cluster = load_cluster(self.file)
        self.remote = remote_of(self.cluster)

    def apply(self, changes=None):
        """An apply of the file with other values for once; `{path: value}`."""
        yaml = YAML()
        document = yaml.load(BASE)
        for path, value in (changes or {}).items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place.setdefault(part, {})
            place[last] = value
        yaml.dump(document, self.file)
        return apply(load_cluster(self.file), str(self.file), self.remote)

    def run(self, host, text):
        """A command on a host, which must end well."""
        done = self.remote.run(host, text, timeout_s=60)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out

    def started(self):
        """When each daemon started."""
        ask = "systemctl show --property=ActiveEnterTimestampMonotonic --value"
        return [self.run("control", f"{ask} slurmctld"), self.run("gpu-node1", f"{ask} slurmd")]

    def config(self):
        """Slurm's own words on its settings."""
        lines = self.run("control", "scontrol show config").splitlines()
        return {line.partition("=")[0].strip(): line.partition("=")[2].strip() for line in lines}

    def job_runs(self):
        """The job of the fixture is where it was."""
        return self.run("control", "squeue --noheader --format='%T %N'").split() == [
            "RUNNING",
            "gpu-node[1-2]",
        ]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Up, applied, with a job; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            report = site.apply()
            assert report.ok, [(host.host, host.error, host.left_out) for host in report.hosts if not host.ok]
            site.run("control", "su alice -c 'cd /tmp; sbatch -N2 --gres=gpu:2 --wrap=\"srun sleep 1800\"'")
            site.run(
                "control", "for _ in $(seq 100); do squeue | grep -q ' R ' && exit; sleep 0.2; done; exit 1"
            )
            yield site
        finally:
            assert lab.down(NAME) == []


def test_a_reload_brings_all_that_we_say_it_brings(site):
    """Seen in Slurm's own words; no daemon was started anew, and the job runs."""
    started, before = site.started(), site.config()

    assert site.apply({"slurm.options": OPTIONS}).ok
    after = site.config()

    assert set(OPTIONS) <= set(BY_RELOAD)
    assert {key for key in OPTIONS if after[key] != before[key]} == set(OPTIONS)
    assert site.started() == started
    assert site.job_runs()
    assert site.apply().ok
    assert {key: site.config()[key] for key in OPTIONS} == {key: before[key] for key in OPTIONS}
    assert site.started() == started


def test_a_partitions_limits_and_a_new_partition_come_by_a_reload(site):
    """22.05 that is asked by a signal keeps its partitions; one taken down by hand stays down."""
    started = site.started()
    site.run("control", "scontrol update partition=train state=down")
    more = {"nodes": ["a100"], "max_time": "1h"}

    assert site.apply({"partitions.train.max_time": "2d", "partitions.short": more}).ok
    said = site.run("control", "sinfo --noheader --format='%R %l %a'").split("\n")

    assert set(said) >= {"train 2-00:00:00 down", "short 1:00:00 up"}
    assert site.started() == started
    assert site.job_runs()
    site.run("control", "scontrol update partition=train state=up")
    assert site.apply().ok


def test_what_wants_a_restart_leaves_jobs_alone(site):
    """Sruns' ports: both daemons start anew."""
    started = site.started()

    assert site.apply({"slurm.ports": [60501, 61000]}).ok
    assert not set(site.started()) & set(started)
    assert site.config()["SrunPortRange"] == "60501-61000"
    assert site.job_runs()
    assert site.apply().ok


def test_files_that_a_daemon_would_die_of_change_nothing(site):
    """No table knows that plugin; the trial has the daemon's own words, and Slurm goes on with its old files."""
    started, text = site.started(), site.run("control", "cat /etc/slurm/slurm.conf")

    report = site.apply({"slurm.options": {"SwitchType": "switch/nowhere"}})
    said = next(host for host in report.hosts if host.host == "control")

    assert "slurmctld rejects the new files" in said.error
    assert "switch/nowhere" in said.error
    assert site.run("control", "cat /etc/slurm/slurm.conf") == text
    assert site.started() == started
    assert site.job_runs()
    assert site.apply().ok


def test_hosts_that_fetch_their_files_hold_none_and_get_every_change(site):
    """Configless: into it, a reload, a restart, and out of it again, with the job running."""
    on = {"slurm.configless": True}
    fetched = "cat /run/slurm/conf/slurm.conf"

    assert site.apply(on).ok
    assert (
        site.run("gpu-node1", "ls /etc/slurm | grep -c -E '^(slurm|gres|cgroup|topology).conf' || true")
        == "0\n"
    )
    assert "SlurmctldParameters=enable_configless" in site.run("gpu-node1", fetched)
    started = site.started()
    assert site.apply(on | {"slurm.kill_wait": "50s"}).ok
    assert "KillWait=50\n" in site.run("gpu-node1", fetched)
    assert site.started() == started
    assert site.apply(on | {"slurm.kill_wait": "50s", "slurm.ports": [60501, 61000]}).ok
    assert "SrunPortRange=60501-61000\n" in site.run("gpu-node1", fetched)
    assert not set(site.started()) & set(started)
    assert site.job_runs()
    again = site.apply(on | {"slurm.kill_wait": "50s", "slurm.ports": [60501, 61000]})
    assert [len(host.changes) for host in again.hosts] == [0, 0, 0]
    assert site.apply().ok
    assert "KillWait=30\n" in site.run("gpu-node1", "cat /etc/slurm/slurm.conf")
    assert site.job_runs()
