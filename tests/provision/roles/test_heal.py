"""The loop's unit is where its key is, and its key is good from there alone."""

from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.edge.heal_files import heal_files
from clusterwright.edge.processes import run
from clusterwright.provision.resources import File, RoleContext, Unit
from clusterwright.provision.roles import desired_resources
from clusterwright.provision.roles.heal import FOLDER, UNIT, heal

EXAMPLE = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
GIVEN = RoleContext({"munge.key": b"", "heal/key": b"PRIVATE\n", "heal/key.pub": b"ssh-ed25519 AAAA heal\n"})


@pytest.fixture
def cluster(tmp_path):
    """With the unit, on hosts where `alice` logs in, who is a user of the cluster too."""
    text = EXAMPLE.read_text()

    def make(more=""):
        file = tmp_path / "cluster.yaml"
        file.write_text(f"{text}\nheal: {{watch: true}}\n{more}")
        return load_cluster(file)

    return make


def files(cluster, name):
    """Files of the role for a host, by path."""
    return {one.path: one for one in heal(cluster, cluster.host(name), GIVEN) if isinstance(one, File)}


def test_the_unit_is_on_the_control_host_alone(cluster):
    """With the program that the file names; started anew when anything that it reads has changed."""
    made = cluster()
    units = [one for one in heal(made, made.control, GIVEN) if isinstance(one, Unit)]
    text = files(made, "control")[f"/etc/systemd/system/{UNIT}"].content

    assert [one.name for one in units] == [UNIT]
    assert (
        f"ExecStart=/opt/clusterwright/env/bin/wright heal watch --cluster {FOLDER}/cluster.yaml --local"
        in text
    )
    assert f"file:{FOLDER}/cluster.yaml" in units[0].restart_on
    assert not any(isinstance(one, Unit) for one in heal(made, made.host("gpu-node1"), GIVEN))


def test_systemd_takes_the_unit(cluster, tmp_path):
    """With a program that is there."""
    text = files(cluster(), "control")[f"/etc/systemd/system/{UNIT}"].content
    path = tmp_path / UNIT
    path.write_text(text.replace("/opt/clusterwright/env/bin/wright", "/bin/true"))
    said = run(("systemd-analyze", "verify", "--man=no", str(path)))

    assert (said.code, UNIT in said.out + said.err) == (0, False), said.err


def test_a_control_host_without_the_program_is_told_the_mend(cluster):
    """The unit's own line before its start is really run: with a program that is there, and with one that is not."""
    lines = files(cluster(), "control")[f"/etc/systemd/system/{UNIT}"].content.splitlines()
    script = next(line for line in lines if line.startswith("ExecStartPre=")).partition("'")[2][:-1]
    absent = run(("/bin/sh", "-c", script.replace("/opt/clusterwright/env", "/nowhere")))
    there = run(("/bin/sh", "-c", script.replace("/opt/clusterwright/env/bin/wright", "/bin/true")))

    assert (absent.code, there.code) == (1, 0)
    assert "no /nowhere/bin/wright here: install Clusterwright on this host" in absent.err


def test_the_private_half_is_read_by_root_alone(cluster):
    """On no other host, in no diff."""
    made = cluster()
    key = files(made, "control")[f"{FOLDER}/key"]

    assert (key.content, key.mode, key.secret) == (b"PRIVATE\n", 0o600, "heal/key")
    assert list(files(made, "gpu-node1")) == ["/etc/ssh/authorized_keys.d/root"]


def test_the_key_is_good_from_the_control_host_alone(cluster):
    """And opens no forwarding and no terminal."""
    line = files(cluster(), "gpu-node1")["/etc/ssh/authorized_keys.d/root"].content.splitlines()[-1]

    assert line == 'from="10.77.0.10,10.77.2.10",restrict ssh-ed25519 AAAA heal'


def test_without_watch_nothing_is_there():
    """The default."""
    made = load_cluster(EXAMPLE)

    assert all(heal(made, host, GIVEN) == () for host in made.hosts())


def test_it_stands_beside_all_other_roles(cluster):
    """No file of it is another role's."""
    made = cluster()

    assert all(
        any(one.id.endswith(("key", "root")) for one in desired_resources(made, host, GIVEN))
        for host in made.hosts()
    )


def test_the_pair_is_made_once(tmp_path):
    """The same one at each apply, with the cluster file as it is now."""
    source = tmp_path / "cluster.yaml"
    source.write_text("name: lab\n")
    first, again = heal_files(tmp_path, source), heal_files(tmp_path, source)

    assert first == again
    assert first["heal/cluster.yaml"] == b"name: lab\n"
    assert first["heal/key.pub"].startswith(b"ssh-ed25519 ")
