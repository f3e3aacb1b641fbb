"""SSH logins of users on a compute host: refused without a job, inside the job with one (pam_slurm_adopt)."""

import shlex
import time

import pytest

from clusterwright import lab
from clusterwright.check.checks.login_jobs_only import login_jobs_only
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.login_modules import login_modules
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

NAME = "login-adopt"
MISSING = able()
BASE = """name: login-adopt
networks:
  management: {subnet: 10.212.0.0/24, rate: 1Gbit/s}
nodes:
  control: {role: control, hosts: control, addresses: {management: 10.212.0.10}, cpus: {cores_per_socket: 2},
    memory: 4GiB}
  a100: {role: compute, hosts: gpu-node1, addresses: {management: 10.212.0.11}, memory: 16GiB,
    cpus: {sockets: 2, cores_per_socket: 8}, gpus: {model: a100, count: 4}}
storage:
  shared: {kind: local, path: /shared}
partitions:
  train: {nodes: [a100], default: true, max_time: 1d}
accounting: {enabled: false}
teams:
  language: {gid: 5001}
users:
  alice: {uid: 6001, team: language, admin: true}
  bob: {uid: 6002, team: language}
  mallory: {uid: 6003, team: language}
lab: {}
"""
SSH = "cd /; runuser -u {user} -- ssh -o BatchMode=yes -o StrictHostKeyChecking=no gpu-node1 '{command}'"

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """A control host and a compute host on which logind runs, as on a host that is no lab's."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.file.write_text(BASE)
        self.cluster = load_cluster(self.file)
        self.remote = remote_of(self.cluster)

    def apply(self, text=BASE):
        """An apply, which must end well."""
        self.file.write_text(text)
        report = apply(load_cluster(self.file), str(self.file), self.remote)
        assert not report.failed, report

    def sh(self, host, text):
        """A command on a host, which must end well."""
        done = self.remote.run(host, text, timeout_s=60)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out

    def login(self, user, command="cat /proc/self/cgroup"):
        """A login from the control host to the compute host, with the cluster's own key of the user."""
        return self.remote.run("control", SSH.format(user=user, command=command), timeout_s=60)

    def job(self, user):
        """A job of the user that runs on the compute host; its id."""
        ask = f"cd /; runuser -u {user} -- sbatch --parsable --gres=gpu:1 -o /dev/null --wrap 'sleep 300'"
        job = self.sh("control", ask).strip()
        self.sh("control", f"timeout 50 sh -c 'until squeue -hj {job} -t R | grep -q .; do sleep 0.2; done'")
        return job


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two hosts, applied once; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("login")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            site.apply()
            site.sh("gpu-node1", "systemctl unmask systemd-logind && systemctl start systemd-logind")
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


def test_a_user_without_a_job_is_refused(site):
    """Not the job of somebody else either."""
    site.job("bob")

    done = site.login("mallory")
    assert not done.ok
    assert "you have no active jobs on this node" in done.err


def test_a_user_with_a_job_is_inside_it(site):
    """In the control group of the job, with the devices of the job, and gone with the job."""
    job = site.job("bob")

    done = site.login("bob")
    assert done.ok, done.err
    assert f"/job_{job}/step_extern" in done.out
    assert "user.slice" not in done.out

    site.login("bob", "nohup sleep 250 >/dev/null 2>&1 &")
    assert site.sh("gpu-node1", "pgrep -u bob -fx '[s]leep 250'; true").strip()
    site.sh("control", f"scancel {job}")
    site.sh("gpu-node1", "timeout 50 sh -c 'while pgrep -u bob; do sleep 0.2; done'")
    site.sh(
        "gpu-node1", "timeout 50 sh -c 'while pgrep -a slurmstepd | grep -qv infinity; do sleep 0.2; done'"
    )
    assert not site.login("bob").ok


@pytest.mark.parametrize("user", ["root", "alice"])
def test_operators_log_in_without_a_job(site, user):
    """Root and an admin of the cluster file, also while slurmd is down."""
    where = (
        (lambda text: site.remote.run("gpu-node1", text, timeout_s=60))
        if user == "root"
        else (lambda text: site.login(user, text))
    )
    assert where("id -un").out.strip() == user
    site.sh("gpu-node1", "systemctl stop slurmd")
    try:
        assert where("id -un").out.strip() == user
        assert not site.login("bob").ok
    finally:
        site.sh("gpu-node1", "systemctl start slurmd")
        site.sh("control", "timeout 50 sh -c 'until sinfo -h -o %t | grep -q idle; do sleep 0.5; done'")


def test_users_have_no_programs_outside_of_jobs(site):
    """No manager of their own, also not by lingering; admins have one. No crontab where there is cron."""
    for user in ("mallory", "alice"):
        site.remote.run("gpu-node1", f"loginctl enable-linger {user}", timeout_s=60)
        site.remote.run("gpu-node1", f"systemctl start user@$(id -u {user}).service", timeout_s=60)

    assert site.sh("gpu-node1", "pgrep -cu mallory || true").strip() == "0"
    assert site.sh("gpu-node1", "pgrep -fu alice 'systemd --user'").strip()
    for program in ("crontab -l", "at -l"):
        ask = f"! command -v {program.split()[0]} || ! runuser -u mallory -- {program}"
        assert site.remote.run("gpu-node1", ask, timeout_s=60).ok
    site.sh("gpu-node1", "loginctl disable-linger alice; systemctl stop user@6001.service")


def test_the_check_shows_a_host_that_admits_everybody(site):
    """Sshd without PAM asks no module."""

    def verdict():
        spec = HostSpec(site.cluster, site.cluster.host("gpu-node1"))
        out = site.sh("gpu-node1", shlex.join(login_modules.argv(spec)))
        return login_jobs_only.judge(spec, login_modules.parse(out)).status.value

    assert verdict() == "ok"
    site.sh("gpu-node1", "sed -i.bak /pam_slurm_adopt/d /etc/pam.d/sshd")
    try:
        assert verdict() == "fail"
    finally:
        site.sh("gpu-node1", "mv /etc/pam.d/sshd.bak /etc/pam.d/sshd")


def test_free_admits_users_again(site):
    """The distribution's file is back; with jobs-only again, users are refused again."""
    site.apply(BASE + "security: {login: free}\n")
    assert site.login("mallory").ok
    assert "pam_slurm_adopt" not in site.sh("gpu-node1", "cat /etc/pam.d/sshd")

    site.apply()
    time.sleep(1)
    assert not site.login("mallory").ok
