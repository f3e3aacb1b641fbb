"""Prolog, epilog, health and the rest around real jobs, in a lab of its own; hosts switched off and on again."""

import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-hooks", "10.227.1"  # 10.227.10 to 10.227.12
HOOKS = "/etc/slurm/clusterwright"
CONF = "/etc/slurm/slurm.conf"
MISSING = able()

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """The lab, and its jobs."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.write({})
        self.cluster = load_cluster(self.file)
        self.remote = remote_of(self.cluster)

    def write(self, slurm):
        """Two compute hosts with a local disk."""
        yaml = YAML()
        document = yaml.load(EXAMPLE.read_text().replace("10.77.", SUBNETS))
        document["name"] = NAME
        document["nodes"]["a100"]["hosts"] = "gpu-node[1-2]"
        document["nodes"]["a100"]["disks"] = [{"size": "3.84TB", "mount": "/scratch"}]
        document["slurm"] |= slurm
        document["accounting"] = {"enabled": False}  # nobody asks here who used what
        yaml.dump(document, self.file)

    def apply(self, **slurm):
        """An apply of the file with more in its section `slurm`."""
        self.write(slurm)
        cluster = load_cluster(self.file)
        report = apply(cluster, str(self.file), remote_of(cluster))
        assert report.ok, [f"{host.host}: {host.error}" for host in report.hosts]

    def run(self, host, text, stdin=b"", timeout_s=60):
        """A command on a host, which must end well."""
        done = self.remote.run(host, text, stdin=stdin, timeout_s=timeout_s)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out

    def as_bob(self, text, options="-w gpu-node1"):
        """A job of bob's that ends before this returns."""
        return self.run("control", f"cd /; timeout 60 runuser -u bob -- srun {options} sh -s", text.encode())

    def background(self, host, user, text):
        """A process that is no job's, as a user; its id."""
        return self.run(
            host, f"cd /; runuser -u {user} -- setsid {text} </dev/null >/dev/null 2>&1 & echo $!"
        ).strip()

    def state(self, host="gpu-node1"):
        """State and reason of a node."""
        return self.run("control", f"sinfo -h -N -n {host} -o '%T|%E'").strip()

    def until(self, what, wanted, limit_s=150):
        """What `summary` says in the end; it must say `wanted` in time."""
        end = time.monotonic() + limit_s
        while wanted not in (said := what()):
            assert time.monotonic() < end, f"{said!r} after {limit_s} s, {wanted!r} wanted"
            time.sleep(0.5)
        return said

    def lives(self, host, pattern):
        """How many processes have this in their command line."""
        return self.run(host, f"pgrep -fc '{pattern}' || true").strip()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Three hosts, applied once; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("hooks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            site.apply()
            site.until(lambda: site.run("control", "sinfo -h -o '%T %D'"), "idle 2")
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


def test_a_job_has_a_folder_of_its_own_and_leaves_nothing(site):
    """On every host of it, named to its tasks, closed to others, gone after it."""
    said = site.run(
        "control",
        "cd /; timeout 60 runuser -u bob -- srun -N2 sh -c "
        "'touch $TMPDIR/x; stat -c \"%n %U %a\" $SCRATCH; echo $TMPDIR'",
    ).split("\n")
    folders = {line for line in said if line.startswith("/scratch/jobs/") and " " not in line}
    (folder,) = folders

    assert said.count(f"{folder} bob 700") == 2
    for host in ("gpu-node1", "gpu-node2"):
        site.until(lambda host=host: site.run(host, "ls -A /scratch/jobs | wc -l"), "0")
        assert site.run(host, "ls /run/clusterwright/jobs").split() == ["lock"]


def test_a_users_leftovers_end_with_the_last_job(site):
    """A process that was started beside the jobs; a second job of the user's protects it, and so does another user."""
    site.run("control", "cd /; runuser -u bob -- sbatch -w gpu-node1 -o /dev/null --wrap 'sleep 15'")
    site.until(lambda: site.run("control", "squeue -h -o '%u %T'"), "bob RUNNING")
    site.background("gpu-node1", "bob", "sleep 7771")
    site.background("gpu-node1", "alice", "sleep 7772")
    site.as_bob("true")
    time.sleep(2)
    beside = site.lives("gpu-node1", "^sleep 777"), site.run("control", "squeue -h -o '%u %T'")
    site.until(lambda: f"{site.lives('gpu-node1', '^sleep 7771')} left", "0 left", limit_s=150)
    other = site.lives("gpu-node1", "^sleep 7772")
    site.run("gpu-node1", "pkill -f '^sleep 7772'")

    assert beside[0] == "2"
    assert "bob RUNNING" in beside[1]
    assert other == "1"
    assert "leftover-ended" in site.run("gpu-node1", "journalctl -t clusterwright --no-pager -o cat")


def test_jobs_from_before_the_programs_are_not_leftovers(site):
    """They have no note of a prolog; their control group speaks for them."""
    site.run("control", "cd /; runuser -u bob -- sbatch -w gpu-node2 -o /dev/null --wrap 'sleep 6'")
    site.until(lambda: site.run("control", "squeue -h -o '%u %T'"), "bob RUNNING")
    site.run("gpu-node2", "cd /run/clusterwright/jobs && rm -f [0-9]*")
    site.as_bob("true", "-w gpu-node2")
    time.sleep(2)

    assert "bob RUNNING" in site.run("control", "squeue -h -o '%u %T'")
    site.until(lambda: f"[{site.run('control', 'squeue -h')}]", "[]")


@pytest.fixture
def often(site):
    """Slurm runs the health program every few seconds, not every five minutes.

    By a restart of slurmctld: a reconfigure would reach slurmd, which wants all device files when it reads its own.
    """
    site.run(
        "control",
        f"sed -i 's/^HealthCheckInterval=.*/HealthCheckInterval=3/' {CONF} && systemctl restart slurmctld",
    )
    yield
    site.run(
        "control",
        f"sed -i 's/^HealthCheckInterval=.*/HealthCheckInterval=300/' {CONF} && systemctl restart slurmctld",
    )


def test_a_lost_device_file_drains_the_host_until_it_is_back(site, often):
    """By Slurm's own hand: slurmctld asks, slurmd runs it, the reason names the file; then the host is given back."""
    site.run("gpu-node1", "mv /dev/nvidia2 /dev/away")
    try:
        said = site.until(site.state, "drained", limit_s=150)
    finally:
        site.run("gpu-node1", "mv /dev/away /dev/nvidia2")
    site.until(site.state, "idle", limit_s=150)

    assert "wright: gpu-file-missing /dev/nvidia2 is not there" in said
    assert site.as_bob("hostname").strip() == "gpu-node1"


def test_what_somebody_has_drained_is_not_given_back(site):
    """Nor is the reason overwritten by a fault that is found later."""
    site.run("control", "scontrol update NodeName=gpu-node1 State=DRAIN Reason='alice: new fan'")
    well = site.remote.run("gpu-node1", f"{HOOKS}/health", timeout_s=60)
    after_well = site.state()
    site.run("gpu-node1", "mv /dev/nvidia2 /dev/away")
    ill = site.remote.run("gpu-node1", f"{HOOKS}/health", timeout_s=60)
    after_ill = site.state()
    site.run("gpu-node1", "mv /dev/away /dev/nvidia2")
    site.run("control", "scontrol update NodeName=gpu-node1 State=RESUME")

    assert (well.code, ill.code) == (0, 1)
    assert after_well == after_ill == "drained|alice: new fan"


@pytest.mark.parametrize(
    ("damage", "fix", "code"),
    [
        ("systemctl stop munge", "systemctl start munge", "munge-silent"),
        (
            "fallocate -l $(df --output=avail -B1 / | tail -1) /var/fill 2>/dev/null; true",
            "rm -f /var/fill",
            "disk-full",
        ),
    ],
)
def test_health_sees_what_jobs_would_die_of(site, damage, fix, code):
    """On a real host, damaged and fixed."""
    site.run("gpu-node2", damage)
    try:
        ill = site.remote.run("gpu-node2", f"{HOOKS}/health", timeout_s=60)
    finally:
        site.run("gpu-node2", fix)
    well = site.remote.run("gpu-node2", f"{HOOKS}/health", timeout_s=60)

    assert f"wright: {code} " in ill.err
    assert (ill.code, well.code) == (1, 0)
    site.until(lambda: site.state("gpu-node2"), "idle")


def test_prolog_and_epilog_need_no_controller(site):
    """Slurmctld is frozen, as it is when it waits for these very programs; they end at once (D8)."""
    site.run("control", "systemctl kill -s STOP slurmctld")
    try:
        began = time.monotonic()
        for name in ("prolog", "epilog"):
            site.run("gpu-node1", f"SLURM_JOB_ID=999999 SLURM_JOB_UID=6002 {HOOKS}/{name}", timeout_s=20)
        seconds = time.monotonic() - began
    finally:
        site.run("control", "systemctl kill -s CONT slurmctld")

    assert seconds < 10  # a client of Slurm waits that long for its controller (MessageTimeout)


def test_a_process_that_no_signal_ends_is_named(site):
    """Its state, where in the kernel it waits, and its stacks are kept; slurmstepd drains the host by itself."""
    site.run("control", "cd /; runuser -u bob -- sbatch -w gpu-node1 -o /dev/null --wrap 'exec sleep 8881'")
    site.until(lambda: site.lives("gpu-node1", "^sleep 8881"), "1")
    job = site.run("control", "squeue -h -u bob -o %i").split()[0]
    done = site.remote.run("gpu-node1", f"SLURM_JOB_ID={job} {HOOKS}/unkillable", timeout_s=60)
    kept = site.run("gpu-node1", "cat /var/lib/clusterwright/hooks/unkillable-*")
    site.run("control", f"scancel {job}")

    assert done.code == 0
    assert f"unkillable job {job}: process" in done.err
    assert "(sleep) is in state S" in done.err
    assert "sleep 8881" in kept
    assert "stack" in kept


POWER = """#!/bin/sh
for host in $(scontrol show hostnames "$1"); do echo "{word} $host" >>/shared/power; done
"""


def test_an_idle_host_is_switched_off_and_on_again_for_a_job(site):
    """By programs that note what Slurm asks; this test is the hand at the switch, and the host really goes."""
    for word in ("off", "on"):
        text = POWER.format(word=word).encode()
        site.run(
            "control", f"cat >/usr/local/bin/power-{word} && chmod 755 /usr/local/bin/power-{word}", text
        )
    site.run("control", "rm -f /shared/power; touch /shared/power && chmod 666 /shared/power")
    # What a lab's host knows of its boot is its machine's: -b says that it was now.
    site.run(
        "gpu-node2", "cp -a /etc/default/slurmd /root/kept; echo 'SLURMD_OPTIONS=-b' >>/etc/default/slurmd"
    )
    saving = {
        "idle": "5s", "suspend": "/usr/local/bin/power-off", "resume": "/usr/local/bin/power-on",
        "resume_timeout": "120s",
    }  # fmt: skip
    try:
        site.apply(power_saving=saving)
        # Five minutes between off and on again are for machines of iron; one host is enough.
        quick = "s/^SuspendTimeout=.*/SuspendTimeout=15\\nSuspendExcNodes=gpu-node1/"
        site.run("control", f"sed -i '{quick}' {CONF} && systemctl restart slurmctld")
        site.until(lambda: site.run("control", "cat /shared/power"), "off gpu-node2", limit_s=120)
        lab.fault(NAME, "kill-host", "gpu-node2")
        off = site.until(
            lambda: site.run("control", "scontrol show node gpu-node2"), "+POWERED_DOWN", limit_s=120
        )
        site.run("control", "cd /; runuser -u bob -- sbatch -w gpu-node2 -o /dev/null --wrap 'sleep 8'")
        asked = site.until(lambda: site.run("control", "cat /shared/power"), "on gpu-node2", limit_s=120)
        lab.undo(NAME, "gpu-node2")
        ran = site.until(
            lambda: site.run("control", "squeue -h -o '%T %N'"), "RUNNING gpu-node2", limit_s=120
        )
    finally:
        lab.undo(NAME, "gpu-node2")
        site.run("gpu-node2", "mv /root/kept /etc/default/slurmd")
        site.apply()
        site.until(lambda: site.run("control", "sinfo -h -o '%T %D'"), "idle 2", limit_s=120)

    assert "+POWERED_DOWN" in off
    assert asked.split("\n").index("off gpu-node2") < asked.split("\n").index("on gpu-node2")
    assert "RUNNING gpu-node2" in ran
