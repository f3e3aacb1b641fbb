"""Users apart on real hosts with real jobs: strangers without and with a job, two-host training, its end."""

import shlex

import pytest

from clusterwright import lab
from clusterwright.check.checks.users_isolated import users_isolated
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.isolation_rules import isolation_rules
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

NAME = "close-ports"
MISSING = able()
BASE = """name: close-ports
networks:
  management: {subnet: 10.229.40.0/24, rate: 1Gbit/s}
  compute: {subnet: 10.229.41.0/24, rate: 10Gbit/s}
nodes:
  control: {role: control, hosts: control, addresses: {management: 10.229.40.10}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
  a100: {role: compute, hosts: "gpu-node[1-2]", addresses: {management: 10.229.40.11, compute: 10.229.41.11},
    memory: 16GiB, cpus: {sockets: 2, cores_per_socket: 8}, gpus: {model: a100, count: 4}}
partitions:
  train: {nodes: [a100], default: true, max_time: 1d}
accounting: {enabled: false}
teams:
  language: {gid: 5001}
users:
  bob: {uid: 6002, team: language}
  eve: {uid: 6003, team: language}
lab: {}
"""
PYTHON = "/opt/clusterwright/env/bin/python"
LISTEN = "import socket,time; d=socket.create_server(('', 23456)); time.sleep(600)"
CONNECT = "import socket; socket.create_connection(('{address}', 23456), {wait_s})"
TRAIN = """import os, torch, torch.distributed as dist
os.environ.update(RANK=os.environ["SLURM_PROCID"], WORLD_SIZE="2", MASTER_ADDR="10.229.41.11", MASTER_PORT="23457")
dist.init_process_group("gloo")
sum = torch.ones(1)
dist.all_reduce(sum)
print("sum", sum.item())
dist.barrier()
"""
ENTRIES = "nft -n list set inet clusterwright_users job_hosts"

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(560),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """A control host and two compute hosts."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.file.write_text(BASE)
        self.cluster = load_cluster(self.file)
        self.remote = remote_of(self.cluster)

    def apply(self, text=BASE):
        """An apply, which must end well; its report."""
        self.file.write_text(text)
        report = apply(load_cluster(self.file), str(self.file), self.remote)
        assert not report.failed, report
        return report

    def sh(self, host, text):
        """A command on a host, which must end well."""
        done = self.remote.run(host, text, timeout_s=120)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out

    def job(self, user, host, *command):
        """A job of the user with one GPU of the host, which runs."""
        wrap = shlex.quote(shlex.join(command))
        ask = (
            f"cd /; runuser -u {user} -- sbatch --parsable -w {host} --gres=gpu:1 -o /dev/null --wrap {wrap}"
        )
        job = self.sh("control", ask).strip()
        self.sh("control", f"timeout 50 sh -c 'until squeue -hj {job} -t R | grep -q .; do sleep 0.2; done'")
        return job

    def connects(self, user, host, address, wait_s=2):
        """Whether a process of the user on the host connects to the listener."""
        code = CONNECT.format(address=address, wait_s=wait_s)
        return self.remote.run(host, f'cd /; runuser -u {user} -- python3 -c "{code}"', timeout_s=60).ok


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Three hosts, applied once; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("isolation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            site.apply()
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


@pytest.fixture(autouse=True)
def idle(site):
    """No job before or after a test."""
    yield
    jobs = site.sh("control", "squeue -h -o %A").split()
    site.sh(
        "control", f"timeout 30 scancel {' '.join(jobs)}; true"
    )  # by id: a late one hits no job of the next test
    site.sh("control", "timeout 50 sh -c 'while squeue -h | grep -q .; do sleep 0.2; done'")


def test_a_stranger_does_not_reach_a_job(site):
    """Without a job, with a job on another host, and with one on the same host; over both networks."""
    site.job("bob", "gpu-node1", "python3", "-c", LISTEN)
    site.sh("gpu-node1", "timeout 20 sh -c 'until ss -ltn | grep -q :23456; do sleep 0.1; done'")
    addresses = ("10.229.40.11", "10.229.41.11")
    assert all(site.connects("bob", "gpu-node1", address) for address in (*addresses, "127.0.0.1"))
    for host in ("gpu-node2", "gpu-node1"):
        assert not any(site.connects("eve", host, address) for address in addresses)
        site.job("eve", host, "sleep", "300")
        assert not any(site.connects("eve", host, address) for address in addresses)
    assert not site.connects("eve", "gpu-node1", "127.0.0.1")


def test_a_training_of_two_hosts_works_and_leaves_nothing(site):
    """Torch's store and Gloo; afterwards the set is empty on both hosts."""
    code = shlex.quote(TRAIN)
    out = site.sh(
        "control",
        "cd /; timeout 100 runuser -u bob -- srun -N2 --ntasks-per-node=1 --gres=gpu:1"
        f" env GLOO_SOCKET_FAMILY=AF_INET {PYTHON} -c {code}",
    )
    assert out.count("sum 2.0") == 2
    for host in ("gpu-node1", "gpu-node2"):
        site.sh(host, f"timeout 20 sh -c 'while {ENTRIES} | grep -q 6002; do sleep 0.2; done'")


def test_jobs_of_one_user_reach_each_other(site):
    """Two jobs on two hosts: slurmctld names the hosts, while the first packet is sent again."""
    site.job("bob", "gpu-node1", "python3", "-c", LISTEN)
    site.job("bob", "gpu-node2", "sleep", "300")
    site.sh("gpu-node1", "timeout 20 sh -c 'until ss -ltn | grep -q :23456; do sleep 0.1; done'")
    assert site.connects("bob", "gpu-node2", "10.229.41.11", wait_s=20)
    assert not site.connects("eve", "gpu-node2", "10.229.41.11", wait_s=8)


def test_an_apply_and_a_restart_keep_the_entries_of_running_jobs(site):
    """The second apply changes nothing; the service restarts, or the host's own rules are loaded anew."""
    site.job("bob", "gpu-node1", "sleep", "300")
    assert not [change for host in site.apply().hosts for change in host.changes]
    for command in ("systemctl restart clusterwright-isolation", "systemctl reload clusterwright-isolation"):
        site.sh("gpu-node1", command)
        assert "6002 . 10.229.41.11" in site.sh("gpu-node1", ENTRIES)


def test_the_check_sees_missing_rules(site):
    """`nft flush ruleset`, and back by the fix that the check names."""

    def verdict():
        out = site.sh("gpu-node2", "nft --json list ruleset")
        return users_isolated.judge(
            HostSpec(site.cluster, site.cluster.host("gpu-node2")), isolation_rules.parse(out)
        )

    assert verdict().status.name == "OK"
    site.sh("gpu-node2", "nft flush ruleset")
    assert verdict().status.name == "FAIL"
    site.sh("gpu-node2", "systemctl restart clusterwright-isolation clusterwright-firewall")
    assert verdict().status.name == "OK"


def test_the_unit_is_closed(site):
    """Systemd's own figure on the host."""
    line = site.sh("gpu-node1", "systemd-analyze security clusterwright-isolation | tail -n 1")
    assert float(line.split("clusterwright-isolation.service: ")[1].split()[0]) <= 3.0


def test_turned_off_nothing_of_it_stays(site):
    """Rules without a prolog that fills them would end all trainings of several hosts."""
    try:
        site.apply(f"{BASE}security: {{isolate_users: false}}\n")
        assert "clusterwright_users" not in site.sh("gpu-node1", "nft list tables")
        site.job("bob", "gpu-node1", "python3", "-c", LISTEN)
        site.sh("gpu-node1", "timeout 20 sh -c 'until ss -ltn | grep -q :23456; do sleep 0.1; done'")
        assert site.connects("eve", "gpu-node2", "10.229.41.11")
    finally:
        site.apply()
