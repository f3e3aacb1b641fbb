"""A Slurm that was typed by hand is adopted: nothing on its hosts changes, then or by an apply of the file."""

import re
import subprocess
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.adopt.facts import facts_of
from clusterwright.adopt.gather import gather
from clusterwright.adopt.site import describe
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.change.drift import drift

BUILD = Path(__file__).parents[1] / "launch" / "unmanaged" / "foreign.sh"
NET, HOSTS = "10.234.0", ("slurm-ctl", "n1", "n2", "n3")
TEXT = f"""name: adopted
networks:
  management: {{subnet: {NET}.0/24, rate: 1Gbit/s}}
nodes:
  control: {{role: control, hosts: slurm-ctl, addresses: {{management: {NET}.10}}, cpus: {{cores_per_socket: 2}},
    memory: 4GiB}}
  nodes: {{role: compute, hosts: "n[1-3]", addresses: {{management: {NET}.11}}, cpus: {{cores_per_socket: 2}},
    memory: 4GiB}}
storage:
  home: {{kind: local, path: /home-of-all}}
partitions:
  debug: {{nodes: [nodes], default: true}}
lab: {{}}
"""
MISSING = able()
pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]
# Everything that an apply writes: configuration, units, programs, accounts, and its own records.
FOLDERS = "/etc /usr/local /opt/clusterwright /var/lib/clusterwright"
SUMS = f"find {FOLDERS} -xdev -type f -exec sha256sum {{}} + 2>/dev/null | sort"


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    """The connection to four hosts whose Slurm no role of ours built."""
    file = tmp_path_factory.mktemp("lab") / "cluster.yaml"
    file.write_text(TEXT)
    cluster = load_cluster(file)
    lab.up(cluster)
    try:
        script = re.sub(r"\b10\.\d+\.0\b", NET, BUILD.read_text())
        subprocess.run(["sh", "-s", cluster.ssh_config], input=script.encode(), check=True, timeout=120)
        yield remote_of(cluster)
    finally:
        lab.down("adopted")


def sums(remote):
    """Checksums of the files of each host."""
    results = {host: remote.run(host, SUMS, timeout_s=120) for host in HOSTS}
    assert all(result.out.count("\n") > 100 for result in results.values())
    return {host: result.out for host, result in results.items()}


def test_an_adopted_cluster_has_nothing_to_change(remote, tmp_path, monkeypatch):
    """Adopt, diff and apply: no change, no file of any host differs, and Slurm's nodes stay idle."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before, file = sums(remote), tmp_path / "cluster.yaml"

    site = gather(remote, "slurm-ctl", ("n1", "n2", "n3"))
    described = describe(site.sources(), site.version, "slurm-ctl", facts_of(site))
    file.write_text(described.text)
    cluster = load_cluster(file)
    checked = apply(cluster, str(file), remote, dry_run=True)
    applied = apply(cluster, str(file), remote)

    assert described.differences == ()
    assert described.adopted.left_out == ()
    assert {host.name: str(host.management) for host in cluster.hosts()} == {
        "slurm-ctl": f"{NET}.10", "n1": f"{NET}.11", "n2": f"{NET}.12", "n3": f"{NET}.13",
    }  # fmt: skip
    assert checked.ok, [host.error for host in checked.hosts]
    assert not drift(checked).differs
    assert applied.ok
    assert applied.changed == 0
    assert sums(remote) == before
    assert remote.run("slurm-ctl", "sinfo -h -o %D -t idle -p debug").out.strip() == "3"


def test_taking_over_a_role_shows_its_plan(remote, tmp_path, monkeypatch):
    """The plan of one role has its own files only, and a dry run changes nothing."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    before, site = sums(remote), gather(remote, "slurm-ctl")
    text = describe(site.sources(), site.version, "slurm-ctl", facts_of(site)).text
    file = tmp_path / "cluster.yaml"
    file.write_text(text.replace("manage: []", "manage: [journal]"))

    report = apply(load_cluster(file), str(file), remote, dry_run=True)

    changes = {change.id for host in report.hosts for change in host.changes}
    assert report.ok, [host.error for host in report.hosts]
    assert changes
    assert all("journal" in name or name == "systemd" for name in changes)
    assert sums(remote) == before
