"""`wright status` from a laptop: one ssh to the control host of a real cluster."""

import json

import pytest

from clusterwright.cli.status import status
from clusterwright.launch.run import runs_folder

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

EVENTS = [
    {"time": 100, "event": "job_start", "job_id": "77", "hosts": ["gpu-node1"], "ranks": 2},
    {"time": 101, "event": "generation_start", "generation": 1, "hosts": ["gpu-node1"]},
    {"time": 110, "event": "step", "generation": 1, "rank": 0, "step": 5, "seconds": 5},
    {"time": 111, "event": "generation_end", "generation": 1, "reason": "finished"},
    {"time": 111, "event": "job_end", "outcome": "finished"},
]


@pytest.fixture
def run(lab_cluster):
    """A run that has ended, in the shared folder; nobody trains."""
    folder = f"{runs_folder(lab_cluster.cluster)}/status-20261121-120000"
    lines = "\n".join(map(json.dumps, EVENTS))
    ended = json.dumps({"outcome": "finished", "code": 0, "reason": "all"})
    command = f"mkdir -p {folder}/events && cd {folder} && echo '{{}}' > job.json && echo 77 > jobs"
    command += f" && echo '{ended}' > ended.json && cat > events/a.jsonl <<'END'\n{lines}\nEND"
    lab_cluster.sh("control", command)
    yield folder
    lab_cluster.sh("control", f"rm -rf {folder}")


def test_a_run_is_found_by_its_job_and_told_of(run, lab_cluster, capfd):
    """By the Python of the control host, from the sent text alone."""
    assert status("77", cluster=lab_cluster.file) == 0
    out = capfd.readouterr().out

    assert "state       finished: all\n" in out
    assert "goodput: 2 GPUs for 11.0 s" in out


def test_what_is_queued_nowhere_and_silent_is_gone(run, lab_cluster, capfd):
    """Slurm is asked on the control host when the run says nothing itself."""
    lab_cluster.sh("control", f"rm {run}/ended.json")
    assert status("77", cluster=lab_cluster.file, json=True) == 0
    found = json.loads(capfd.readouterr().out)

    assert (found["state"], found["reason"]) == ("gone", "Slurm has no job of the run")
