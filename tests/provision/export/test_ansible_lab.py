"""The exported playbook, run by the real ansible-core on bare hosts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.cli.export import export
from clusterwright.config.load import load_cluster
from clusterwright.provision.apply import apply, remote_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-export", "10.208."
PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")

pytestmark = [
    pytest.mark.lab,
    pytest.mark.long,  # Ansible takes minutes for what an apply does in seconds
    pytest.mark.timeout(1500),
    pytest.mark.skipif(
        not PLAYBOOK.exists(), reason="ansible-core is not installed (pip install ansible-core)"
    ),
]


def play(folder, *options):
    """A run of the playbook; packages are in the image, which has no python3-apt to look at them with."""
    done = subprocess.run(
        [PLAYBOOK, "site.yaml", "--skip-tags", "packages", *options],
        cwd=folder,
        env=os.environ | {"ANSIBLE_CONFIG": str(folder / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A control host and a compute host, bare, and the export of their file."""
    folder = tmp_path_factory.mktemp("export")
    yaml = YAML()
    document = yaml.load(EXAMPLE.read_text().replace("10.77.", SUBNETS))
    document["name"] = NAME
    document["nodes"]["a100"]["hosts"] = "gpu-node1"
    yaml.dump(document, folder / "cluster.yaml")
    cluster = load_cluster(folder / "cluster.yaml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        lab.down(NAME)
        try:
            lab.up(cluster)
            export(cluster=folder / "cluster.yaml", out=folder / "out", ansible=True, with_secrets=True)
            yield folder, cluster
        finally:
            left = lab.down(NAME)
    assert left == []


def test_ansible_makes_what_apply_would(site):
    """Then our own apply wants only the file that hosts compute, which the README names; and a job runs."""
    folder, cluster = site
    play(folder / "out")
    report = apply(cluster, str(folder / "cluster.yaml"), remote_of(cluster), dry_run=True)
    job = remote_of(cluster).run("control", "timeout 60 srun -N1 hostname", timeout_s=90)

    assert report.ok, report
    wanted = [
        change.id for host in report.hosts for change in host.changes if not change.id.startswith("records:")
    ]
    assert wanted == ["file:/etc/pam.d/sshd"]
    assert "/etc/pam.d/sshd" in (folder / "out" / "README.md").read_text()
    assert job.out.strip() == "gpu-node1", job
