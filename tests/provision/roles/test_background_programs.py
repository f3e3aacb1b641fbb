"""Crontabs, at jobs and user managers on compute hosts: for those who need no job, and for nobody else."""

import os
import shlex
import subprocess

import pytest

from clusterwright.provision.roles.background_programs import AT, CRON, DROP_IN, background_programs


@pytest.fixture
def texts(altered, given):
    """The content of each file on a host, by path."""

    def find(changes=None, host="gpu-node1"):
        cluster = altered({"lab": None, "users.alice.admin": True} | (changes or {}))
        return {file.path: file.content for file in background_programs(cluster, cluster.host(host), given)}

    return find


def test_those_who_need_a_job_have_neither_cron_nor_at(texts):
    """Root and admins have them."""
    for path in (CRON, AT):
        names = [line for line in texts()[path].splitlines() if not line.startswith("#")]
        assert {"root", "alice"} <= set(names)
        assert "bob" not in names


def test_only_compute_hosts_with_jobs_only_are_restricted(texts):
    """Other hosts and `security.login: free` keep the distribution's rules."""
    assert not texts(host="control")
    assert not texts({"security.login": "free"})


@pytest.mark.skipif(os.getuid() != 0, reason="needs useradd")
def test_a_user_manager_starts_for_those_who_need_no_job(texts, tmp_path):
    """By the command that systemd runs before it, with accounts of this machine."""
    allowed = tmp_path / "cron.allow"
    name = f"cw-sec-hosts-{os.getpid()}"
    (line,) = (line for line in texts()[DROP_IN].splitlines() if line.startswith("ExecStartPre=+"))

    def starts(uid):
        command = line.removeprefix("ExecStartPre=+").replace("%i", str(uid)).replace(CRON, str(allowed))
        return (
            subprocess.run(
                shlex.split(command), check=False, timeout=60, stderr=subprocess.DEVNULL
            ).returncode
            == 0
        )

    subprocess.run(["useradd", "--no-create-home", name], check=True, timeout=60)
    try:
        uid = int(subprocess.check_output(["id", "-u", name], timeout=60))
        allowed.write_text(f"# header\n\nroot\nx{name}\n{name}x\n")
        assert not starts(uid)
        allowed.write_text(f"# header\n\nroot\n{name}\n")
        assert starts(uid)
        assert starts(0)
        assert not starts(4000000)
    finally:
        subprocess.run(["userdel", name], check=True, timeout=60)
