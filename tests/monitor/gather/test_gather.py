"""One program on the control host brings everything."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.edge.bundler import SNAPSHOT, program_command, program_input
from clusterwright.edge.fakes import FakeClock, FakeRemote
from clusterwright.edge.ssh import FromHost, Ssh
from clusterwright.errors import WrightError
from clusterwright.monitor.gather import SnapshotCache, gather
from clusterwright.monitor.gather.gather import cluster_facts, control_remote, request
from clusterwright.monitor.gather.nodes import NodeSpec

LAB = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"


@pytest.fixture
def cluster():
    """The example's."""
    return load_cluster(LAB)


def test_one_ssh_brings_the_picture(recorded, cluster):
    """To the control host, with the program on stdin."""
    remote = FakeRemote(lambda *_: json.dumps(recorded.recorded(20, 30)))
    found = gather(cluster, remote)

    assert [host for host, _ in remote.calls] == ["control"]
    assert (len(found.nodes), len(found.jobs), found.cluster) == (20, 30, "lab")


def test_a_control_host_that_is_not_reached_is_an_error(cluster):
    """There is no picture then; ssh's own words are shown."""
    with pytest.raises(WrightError, match="control is unreachable"):
        gather(cluster, FakeRemote(lambda *_: "", down=frozenset({"control"})))


def test_a_shell_that_talks_is_named(cluster):
    """A greeting in .bashrc is the commonest reason."""
    with pytest.raises(WrightError, match="the output is not JSON"):
        gather(cluster, FakeRemote(lambda *_: "Welcome!\n"))


def test_the_script_runs_by_itself_and_names_all_that_does_not_answer(cluster, tmp_path):
    """The real script in a process of its own, where there is neither Slurm nor Prometheus; as on the control host."""
    line = (
        program_command(request(cluster))
        .replace("127.0.0.1:9090", "127.0.0.1:1")
        .replace("127.0.0.1:9093", "127.0.0.1:1")
    )
    (tmp_path / "python3").symlink_to(sys.executable)
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        input=program_input(SNAPSHOT),
        capture_output=True,
        check=False,
        env={"PATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr.decode()
    document = json.loads(done.stdout)

    assert sorted(document["silent"]) == ["alerts", "jobs", "measures", "nodes", "shares"]
    assert document["silent"]["jobs"] == "squeue: No such file or directory"
    assert document["silent"]["alerts"] == "Connection refused"


def test_what_stands_between_fields_is_drawn_anew_at_each_asking(cluster, tmp_path, monkeypatch):
    """So nobody can put it into the name of a job."""
    for name, does in (("squeue", 'printf "%s\\n" "$3" >>"$0.asked"'), ("scontrol", ":"), ("sshare", ":")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    here = FromHost("control", Ssh())
    assert (gather(cluster, here).nodes, gather(cluster, here).jobs) == ((), ())

    asked = (tmp_path / "squeue.asked").read_text().rstrip("\n").split("\n")
    assert len(set(asked)) == len(asked) == 2


def test_on_the_control_host_no_ssh_is_needed(cluster, monkeypatch):
    """By its name; a lab's control host is another one, whatever its name."""
    site = cluster.model_copy(update={"lab": None})
    remote = FakeRemote(lambda *_: "")
    monkeypatch.setattr("socket.gethostname", lambda: "control.example.org")  # the name is the machine's

    assert control_remote(site, remote) == FromHost("control", remote)
    assert control_remote(cluster, remote) is remote
    monkeypatch.setattr("socket.gethostname", lambda: "laptop")
    assert control_remote(site, remote) is remote


def test_what_the_file_says(cluster):
    """Groups, switches, shares; and that there is neither Prometheus nor accounting."""
    found = cluster_facts(cluster)

    assert found.places["gpu-node1"] == NodeSpec("a100", "leaf1", 4, "a100")
    assert found.shares == {"vision": 0.6, "language": 0.4}
    assert "control" not in found.places


def test_whoever_looks_within_five_seconds_sees_the_same(recorded):
    """Slurmctld is asked once; trouble is kept with the last picture until the next asking goes well."""
    clock, made = FakeClock(), recorded.made_picture(2, 1)
    answers = [made, WrightError.from_code("unreachable", "gone", "look"), made]
    kept = SnapshotCache(lambda: _raised(answers.pop(0)), clock, every_s=1)

    assert (kept.newest(), kept.newest(), len(answers)) == (made, made, 2)
    clock.sleep(5)
    assert (kept.newest(), str(kept.trouble is not None)) == (made, "True")
    clock.sleep(5)
    assert (kept.newest(), kept.trouble) == (made, None)


def _raised(answer):
    if isinstance(answer, Exception):
        raise answer
    return answer
