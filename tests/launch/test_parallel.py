import json
import subprocess

from clusterwright.launch.command import command
from clusterwright.launch.local import local_script
from clusterwright.launch.script import script
from clusterwright.launch.variables import parallel as variables

CUT = {"tensor": 4, "pipeline": 2, "interleave": 5, "shard": "optimizer", "recompute": "selective"}


def a_program(a_job, **fields):
    """A program of the user's own on four hosts of four GPUs."""
    own = {"recipe": None, "command": ["train.py"], "nodes": 4, "gpus_per_node": 4, "parallel": CUT}
    return a_job(**own | fields)


def test_the_ranks_find_the_section_and_its_sizes(a_job):
    """As JSON and one by one; the replicas are counted."""
    said = variables(a_program(a_job))

    assert json.loads(said["CLUSTERWRIGHT_PARALLEL"]).items() >= (CUT | {"data": 2, "context": 1}).items()
    assert [said[f"CLUSTERWRIGHT_{name}"] for name in ("TP", "PP", "CP", "EP", "ETP", "DP", "MICRO_BATCH")] == [
        "4", "2", "1", "1", "1", "2", "1",
    ]  # fmt: skip


def test_without_the_section_nothing_is_said(a_job):
    """A job that says nothing of it is started as before."""
    assert variables(a_job()) == {}


def test_an_elastic_job_counts_its_replicas_itself(a_job):
    """Their number changes with the hosts."""
    elastic = {"elastic": {"min_nodes": 2}, "recovery": {"on_host_loss": "shrink"}, "parallel": {"tensor": 4}}

    assert "CLUSTERWRIGHT_DP" not in variables(a_program(a_job, **elastic))


def test_what_a_dry_run_prints_sets_them(cluster, a_job):
    """Bash reads the JSON back as it was, from the script for Slurm and from the local one."""
    job = a_program(a_job, nodes=2, parallel={"tensor": 2, "pipeline": 2})
    for text in (script(job, cluster, "/shared/runs/j"), local_script(job, "/tmp/j", "python3")):
        settings = "\n".join(line for line in text.splitlines() if line.startswith("export CLUSTERWRIGHT_"))
        done = subprocess.run(
            ["bash", "-c", f'{settings}\nprintf %s "$CLUSTERWRIGHT_PARALLEL"'],
            capture_output=True,
            text=True,
            check=True,
        )

        assert json.loads(done.stdout)["pipeline"] == 2
        assert "export CLUSTERWRIGHT_DP=2" in settings


def test_the_recipe_takes_its_microbatch(a_job):
    """It becomes the recipe's own option."""
    assert "--microbatch=4" in command(a_job(parallel={"micro_batch": 4}))
