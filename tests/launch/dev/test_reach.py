"""What a person copies."""

from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.launch.dev import Session, reach

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def site():
    """A cluster that is no lab: reached as root, or by the site's own file."""
    lab = load_cluster(EXAMPLES / "lab" / "cluster.yaml")
    return lab.model_copy(update={"lab": None})


def asked(**fields):
    """A session of bob's that is up."""
    known = {"job": "12", "kind": "jupyter", "user": "bob", "host": "gpu-node1", "gpus": "0", "idle_s": 60}
    return Session(**{**known, "joined": False, "port": 4000, "token": "abc", **fields})


def test_the_tunnel_goes_by_the_control_host_to_the_loopback_address(site):
    """With a port of this machine's of its own, and the site's way to log in."""
    way = reach(asked(), site, local_port=5000)

    assert " ".join(way.tunnel) == (
        "ssh -S none -N -o ExitOnForwardFailure=yes -L 127.0.0.1:5000:127.0.0.1:4000"
        " -J root@control:22 -l root -p 22 gpu-node1"
    )
    assert way.url == "http://127.0.0.1:5000/lab?token=abc"


def test_the_sites_ssh_config_is_the_tunnels_too(site):
    """Its jump hosts, certificates and names go on to hold."""
    access = site.ssh.model_copy(update={"config": "/etc/wright/ssh_config", "user": "bob", "port": 2222})
    way = reach(asked(), site.model_copy(update={"ssh": access}), local_port=5000)

    assert way.tunnel[:3] == ("ssh", "-F", "/etc/wright/ssh_config")
    assert way.tunnel[-7:] == ("-J", "bob@control:2222", "-l", "bob", "-p", "2222", "gpu-node1")


def test_the_block_for_vs_code_goes_first_to_the_host_and_then_into_the_job(site):
    """The job's sshd listens on the loopback address, by a key that is known beforehand."""
    way = reach(asked(kind="vscode"), site, local_port=5000, key="/state/key", hosts="/state/known_hosts")

    assert way.ssh_block == (
        "Host wright-dev-12\n  HostName 127.0.0.1\n  HostKeyAlias wright-dev-12\n  User bob\n"
        '  IdentityFile "/state/key"\n  IdentitiesOnly yes\n  UserKnownHostsFile "/state/known_hosts"\n'
        "  StrictHostKeyChecking yes\n"
        "  ProxyCommand ssh -S none -W 127.0.0.1:4000 -J root@control:22 -l root -p 22 gpu-node1\n"
    )
    assert (way.url, way.tunnel) == ("", ())


def test_a_shell_is_a_step_of_the_job_as_its_user(site):
    """Whoever logs in as root becomes the user first."""
    way = reach(asked(kind="shell"), site, local_port=0)

    assert way.shell[:-1] == ("ssh", "-t", "-l", "root", "-p", "22", "control")
    assert "runuser -u bob -- srun --jobid=12 --overlap --pty bash -lc 'cd; exec bash -l'" in way.shell[-1]
