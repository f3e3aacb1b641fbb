"""What health programs drain, and give back: their own drains only, and a share of the hosts at most; in a lab."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.check.runner import run as check
from clusterwright.check.verdict import Status
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-share", "10.228.1"  # 10.228.10 to 10.228.12
HOOKS = "/etc/slurm/clusterwright"
HOSTS = ("gpu-node1", "gpu-node2", "gpu-node3", "gpu-node4")
MISSING = able()

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """Four compute hosts, of which one may be drained."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        yaml = YAML()
        document = yaml.load(EXAMPLE.read_text().replace("10.77.", SUBNETS))
        document["name"] = NAME
        document["slurm"]["max_drained_percent"] = 25
        document["accounting"] = {"enabled": False}
        yaml.dump(document, self.file)
        self.cluster = load_cluster(self.file)
        self.remote = remote_of(self.cluster)

    def run(self, host, text, stdin=b"", timeout_s=120):
        """A command on a host, which must end well."""
        done = self.remote.run(host, text, stdin=stdin, timeout_s=timeout_s)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out

    def health(self, host):
        """The health program, as slurmd runs it; what it said."""
        return self.remote.run(host, f"{HOOKS}/health", timeout_s=120).err

    def state(self, host):
        """State and reason of a node; the star of one that was given back and has not answered again is left out."""
        return self.run("control", f"sinfo -h -N -n {host} -o '%T|%E'").strip().replace("*|", "|")

    def until(self, what, wanted, limit_s=150):
        """What `summary` says in the end; it must say `wanted` in time."""
        end = time.monotonic() + limit_s
        while wanted not in (said := what()):
            assert time.monotonic() < end, f"{said!r} after {limit_s} s, {wanted!r} wanted"
            time.sleep(0.5)
        return said

    def drained(self):
        """Hosts that health programs have drained."""
        rows = self.run("control", "sinfo -h -N -o '%N|%T|%E'").split("\n")
        return [row for row in rows if "|drain" in row and "|wright: " in row]

    def verdict(self, host):
        """What `wright check` says of the node."""
        found = check(self.cluster, self.remote, only=["node_states"])
        return next(each for each in found if each.subject == host)

    def lose(self, *hosts):
        """A device file of a GPU is gone."""
        for host in hosts:
            self.run(host, "mv /dev/nvidia2 /dev/away")

    def fix(self, *hosts):
        """It is back, and the health program sees it."""
        for host in hosts:
            self.run(host, "[ ! -e /dev/away ] || mv /dev/away /dev/nvidia2")
        for host in hosts:
            self.health(host)


@pytest.fixture(scope="module")
def lab_of_four(tmp_path_factory):
    """Five hosts, applied once; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("share")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            report = apply(site.cluster, str(site.file), site.remote)
            assert report.ok, [f"{host.host}: {host.error}" for host in report.hosts]
            site.until(lambda: site.run("control", "sinfo -h -o '%T %D'"), "idle 4")
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


@pytest.fixture
def site(lab_of_four):
    """Before and after each test all hosts are sound and take jobs."""
    yield lab_of_four
    lab.undo(NAME, "all")
    lab_of_four.fix(*HOSTS)
    lab_of_four.run("control", f"scontrol update NodeName={','.join(HOSTS)} State=RESUME || true")
    lab_of_four.until(lambda: lab_of_four.run("control", "sinfo -h -o '%T %D'"), "idle 4")


def test_a_share_of_the_hosts_at_most_is_drained(site):
    """The second fault is named and not drained; when the first is fixed there is room, and then it is."""
    site.lose("gpu-node1", "gpu-node2")
    first, second = site.health("gpu-node1"), site.health("gpu-node2")
    states = site.state("gpu-node1"), site.state("gpu-node2")
    told = site.verdict("gpu-node2"), site.verdict("gpu-node1")
    job = site.remote.run("gpu-node2", f"SLURM_JOB_ID=7 SLURM_JOB_UID=6002 SLURM_JOB_GPUS=0 {HOOKS}/prolog")
    site.fix("gpu-node1")
    site.health("gpu-node2")
    later = site.state("gpu-node1"), site.state("gpu-node2")
    site.fix("gpu-node2")
    site.until(lambda: site.verdict("gpu-node2").status.value, "ok")

    assert "share-used" not in first
    assert "share-used" in second
    assert states[0].startswith("drained|wright: gpu-file-missing /dev/nvidia2 is not there [")
    assert states[1] == "idle|none"
    assert (told[0].status, told[1].status) == (Status.FAIL, Status.WARN)
    assert "in spite of a fault" in told[0].observed
    assert "drained by the host's health check program: gpu-file-missing" in told[1].observed
    assert (job.code, "gpu-file-missing" in job.err) == (0, True)  # named, and let in: the share says so
    assert later[0] == "idle|none"
    assert later[1].startswith("drained|wright: gpu-file-missing")


def test_hosts_that_meet_a_fault_at_once_keep_the_share(site):
    """All four at the same time, again and again; at the end one is drained, and it stays so."""
    site.lose(*HOSTS)
    with ThreadPoolExecutor() as pool:
        for _ in range(2):
            list(pool.map(site.health, HOSTS))
            at_once = site.drained()
    for host in HOSTS:
        site.health(host)

    assert len(at_once) <= 1
    assert len(site.drained()) == 1


def test_a_reason_that_a_person_changed_is_kept(site):
    """Also where only a word was added; and a person's own drain, in which the program has no part."""
    site.lose("gpu-node1")
    site.health("gpu-node1")
    reason = site.state("gpu-node1").partition("|")[2]
    site.run("control", f"scontrol update NodeName=gpu-node1 State=DRAIN Reason='{reason} RMA 77'")
    site.run("control", "scontrol update NodeName=gpu-node3 State=DRAIN Reason='alice: new fan'")
    site.fix("gpu-node1", "gpu-node3")
    found = site.verdict("gpu-node1"), site.verdict("gpu-node3")

    assert site.state("gpu-node1") == f"drained|{reason} RMA 77"
    assert site.state("gpu-node3") == "drained|alice: new fan"
    assert all(
        "ask " in each.fix and "the host's health check program" not in each.observed for each in found
    )


SLEEPS = """#!/bin/sh
exec sleep 7773
"""


def test_a_probe_that_hangs_is_named_and_the_job_begins(site):
    """Blind is not a fault: the job has run and is gone while nvidia-smi still gives no answer."""
    site.run("gpu-node3", "cat >/root/sleeps && chmod 755 /root/sleeps", SLEEPS.encode())
    site.run(
        "gpu-node3",
        f"cp {HOOKS}/declared /root/kept; sed -i s:^NVIDIA_SMI=.*:NVIDIA_SMI=/root/sleeps: {HOOKS}/declared",
    )
    try:
        said = site.run("control", "cd /; runuser -u bob -- srun -w gpu-node3 --gres=gpu:1 hostname")
        named = site.run("gpu-node3", "journalctl -t clusterwright --no-pager -o cat")
    finally:
        site.run("gpu-node3", f"cp /root/kept {HOOKS}/declared; pkill -f '^sleep 7773' || true")

    assert said.strip() == "gpu-node3"
    assert "probe-slow /root/sleeps gave no answer in 1 s" in named
    assert site.state("gpu-node3").startswith(("idle|", "completing|"))


def test_a_driver_that_hangs_keeps_jobs_away_until_it_answers(site):
    """Its XID refuses the job, so Slurm drains; the health program gives the reason, and the host back."""
    lab.fault(NAME, "driver-hang", "gpu-node4")
    site.until(lambda: site.run("gpu-node4", "journalctl -kb --no-pager -q"), "Xid")
    site.run("control", "cd /; runuser -u bob -- sbatch -w gpu-node4 --gres=gpu:1 -o /dev/null --wrap true")
    refused = site.until(lambda: site.state("gpu-node4"), "rolog error")
    told = site.verdict("gpu-node4")
    site.run("control", "scancel -u bob")
    site.health("gpu-node4")
    reason = site.state("gpu-node4")
    lab.undo(NAME, "gpu-node4")
    site.until(lambda: f"{site.health('gpu-node4')}{site.state('gpu-node4')}", "idle|none")

    assert "drain" in refused
    assert "its prolog or epilog failed" in told.observed
    assert "wright: gpu-xid 119" in reason
    assert "gpu-driver-hangs" in reason


def test_an_xid_counts_until_somebody_says_that_it_is_mended(site):
    """By `logger`, as `wright check` has it."""
    lab.fault(NAME, "gpu-xid", "gpu-node2", xid="79")
    site.until(lambda: f"{site.health('gpu-node2')}{site.state('gpu-node2')}", "wright: gpu-xid 79")
    address = site.state("gpu-node2").rpartition("(")[2].partition(")")[0]
    site.run(
        "gpu-node2",
        f"systemd-run --unit=clusterwright-repair -p SyslogIdentifier=clusterwright echo repaired {address}",
    )

    site.until(lambda: f"{site.health('gpu-node2')}{site.state('gpu-node2')}", "idle|none")


WIDE = """ClusterName=wide
SlurmctldHost=control
SlurmctldPort=16817
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=/root/wide/state
SlurmctldPidFile=/root/wide/pid
SlurmctldLogFile=/root/wide/log
SlurmdTimeout=0
ReturnToService=2
NodeName=wide[1-30] NodeAddr=127.0.0.1 Port=[17001-17030]
PartitionName=all Nodes=ALL Default=YES
"""
AT_ONCE = """
export SLURM_CONF=/root/wide/slurm.conf
for number in $(seq 30); do
  mkdir -p /root/wide/run/$number
  cp -a /root/wide/hooks /root/wide/run/$number/hooks
  echo "STATE=/root/wide/run/$number/state" >>/root/wide/run/$number/hooks/declared
  mkdir -p /root/wide/run/$number/state
  SLURMD_NODENAME=wide$number /root/wide/run/$number/hooks/health >/root/wide/run/$number/said 2>&1 &
done
wait
"""


def test_thirty_hosts_that_drain_at_once_keep_the_share(site):
    """Thirty health programs at once and a slurmctld of thirty nodes: 10 % stay drained at most."""
    hooks = site.run("gpu-node1", f"cd {HOOKS} && tar c * | base64")
    site.run("control", "rm -rf /root/wide; mkdir -p /root/wide/state /root/wide/hooks")
    site.run("control", "base64 -d | tar x -C /root/wide/hooks", hooks.encode())
    site.run("control", "cat >/root/wide/slurm.conf", WIDE.encode())
    lost = "\\nGPU_FILES=/dev/nosuch\\nGPU_DRIVER=0\\nMOST_DRAINED=10\\nNETWORKS=\\n"
    site.run("control", f"printf '{lost}' >>/root/wide/hooks/declared")
    site.run("control", "SLURM_CONF=/root/wide/slurm.conf slurmctld -f /root/wide/slurm.conf")
    told = "SLURM_CONF=/root/wide/slurm.conf sinfo -h -N -o '%N|%T|%E' | grep -c '|wright: ' || true"
    try:
        site.until(
            lambda: site.run("control", "SLURM_CONF=/root/wide/slurm.conf scontrol ping || true"), "UP"
        )
        site.run("control", AT_ONCE, timeout_s=300)
        at_once = int(site.run("control", told))
        said = site.run("control", "cat /root/wide/run/*/said")
    finally:
        site.run("control", "kill $(cat /root/wide/pid); rm -rf /root/wide")

    assert 1 <= at_once <= 3
    assert said.count("share-used") == 30 - at_once
