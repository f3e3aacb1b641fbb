"""Hosts without a route to any repository get Slurm and its dependencies from a bundle."""

from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.package_bundle.gather import gather

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-bundle", "10.199."
HOSTS = ("control", "gpu-node1")
# Of the image of lab hosts, with what depends on it; lmod and its Lua are not in the image.
PURGED = "slurm-client slurmd slurmctld slurmdbd munge libmunge2 chrony"
MISSING = able()

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A control host and one GPU host that have lost Slurm, and a cluster file with a bundle."""
    folder = tmp_path_factory.mktemp("site")
    text = LAB.read_text().replace("10.77.", SUBNETS).replace("name: lab\n", f"name: {NAME}\n")
    text = text.replace("gpu-node[1-4]", "gpu-node1") + "\nenvironments: {modules: lmod}\n"
    path = folder / "cluster.yaml"
    path.write_text(text)
    gathered = gather(load_cluster(path), folder / "bundle.tar")
    path.write_text(f"{text}software: {{bundle: {{path: {gathered.path}, sha256: {gathered.sha256}}}}}\n")
    lab.up(load_cluster(path))
    try:
        yield path
    finally:
        lab.down(NAME)


def test_hosts_without_a_network_install_from_the_bundle(file):
    """Their own apt reaches nothing and stays as it is; the apply installs Slurm, which then runs a job."""
    cluster = load_cluster(file)
    remote = remote_of(cluster)

    def sh(host, command, timeout_s=120):
        result = remote.run(host, command, timeout_s=timeout_s)
        assert result.ok, f"{host}: {command}: {result.out}{result.err}"
        return result.out

    apt_state = "find /etc/apt /var/lib/apt/lists -type f | sort | xargs sha256sum"
    before = {}
    for host in HOSTS:
        sh(host, f"DEBIAN_FRONTEND=noninteractive apt-get purge -y {PURGED}")
        assert "default" not in sh(host, "ip route")
        assert not remote.run(host, "apt-get update -o APT::Update::Error-Mode=any", timeout_s=120).ok
        assert not remote.run(host, "command -v slurmd || command -v munged || test -d /usr/share/lmod").ok
        before[host] = sh(host, apt_state)

    report = apply(cluster, str(file), remote)

    assert report.ok, [(host.host, host.error) for host in report.hosts]
    assert "gpu-node1" in sh("control", "srun --partition=train --nodes=1 hostname")
    for host in HOSTS:
        assert "Modules based on Lua" in sh(host, "bash -lc 'module --version' 2>&1")
        origin = sh(host, "APT_CONFIG=/opt/clusterwright/bundle/apt.conf apt-cache policy munge")
        assert "file:/opt/clusterwright/bundle/repository" in origin
        assert [line for line in sh(host, apt_state).splitlines() if "52clusterwright-hold" not in line] == [
            line for line in before[host].splitlines() if "52clusterwright-hold" not in line
        ]
    assert apply(cluster, str(file), remote, dry_run=True).pending == 0
