"""The compose file and what its image is made of."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.config.load import load_cluster
from clusterwright.provision.export.export import export

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(params=["lab", "a100", "hgx"])
def example(request):
    """Each example in turn."""
    return load_cluster(EXAMPLES / request.param / "cluster.yaml")


@pytest.fixture
def document(example, given):
    """The compose file of it."""
    return YAML(typ="safe").load(export(example, given, compose=True)["compose.yaml"].content)


def test_every_host_is_a_container_with_its_addresses(example, document):
    """In networks with the subnets of the file; each knows the names of all."""
    for host in example.hosts():
        service = document["services"][host.name]
        assert {net: row["ipv4_address"] for net, row in service["networks"].items()} == {
            net: str(address) for net, address in host.addresses.items()
        }
        assert f"{host.name}:{host.management}" in service["extra_hosts"]
    assert {net: row["ipam"]["config"][0]["subnet"] for net, row in document["networks"].items()} == {
        net: str(network.subnet) for net, network in example.networks.named().items()
    }


def test_daemons_run_where_the_file_wants_them(example, document):
    """The accounting daemon after its database, before slurmctld, on the accountant; slurmd on compute hosts."""
    daemons = {name: row["environment"]["DAEMONS"].split() for name, row in document["services"].items()}

    assert [name for name, names in daemons.items() if "slurmctld" in names] == [example.control.name]
    assert [name for name, names in daemons.items() if "slurmdbd" in names] == [example.accountant.name]
    assert {name for name, names in daemons.items() if names[-1] == "slurmd"} == {
        host.name for host in example.hosts("compute")
    }
    assert all(names[0] == "munged" for names in daemons.values())


def test_the_image_has_the_packages_and_the_people(example, given):
    """Of all hosts, from the distribution of the file."""
    text = export(example, given, compose=True)["Dockerfile"].content
    name, _, release = example.os.partition("-")

    assert re.search(rf"(?m)^FROM {name}[a-z]*:{release}$", text)
    assert "munge" in text
    for user, person in example.users.items():
        assert f"--uid {person.uid} --gid {person.team} {user}" in text


@pytest.mark.skipif(not shutil.which("docker-compose"), reason="apt-get install docker-compose")
@pytest.mark.parametrize("name", ["lab", "hgx"])
def test_docker_compose_accepts_the_file(name, given, tmp_path):
    """Its own reader holds it against the schema of the compose specification; no daemon is asked."""
    text = export(load_cluster(EXAMPLES / name / "cluster.yaml"), given, compose=True)["compose.yaml"].content
    (tmp_path / "compose.yaml").write_text(text)
    (tmp_path / "wrong.yaml").write_text(text.replace("privileged:", "priviledged:"))
    reads = {
        file: subprocess.run(
            ["docker-compose", "--file", file, "config", "--quiet"],
            cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
        )
        for file in ("compose.yaml", "wrong.yaml")
    }  # fmt: skip

    assert reads["compose.yaml"].returncode == 0, reads["compose.yaml"].stderr
    assert "priviledged" in reads["wrong.yaml"].stderr


def test_the_entrypoint_is_a_shell_script_without_faults(cluster, given, tmp_path):
    """As sh and shellcheck read it."""
    script = tmp_path / "entrypoint.sh"
    script.write_text(export(cluster, given, compose=True)["entrypoint.sh"].content)
    tools = [["sh", "-n"], *([["shellcheck"]] if shutil.which("shellcheck") else [])]

    for tool in tools:
        done = subprocess.run([*tool, script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
