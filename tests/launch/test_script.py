import json
import re
import subprocess
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.errors import WrightError
from clusterwright.launch.command import LIBRARY, launch_of
from clusterwright.launch.record import record, with_record
from clusterwright.launch.script import script
from clusterwright.onhost.lib.run_module import FILE
from clusterwright.onhost.supervisor.job import InvalidRecordError, read_record

GOLDEN = Path(__file__).parents[1] / "golden" / "sbatch"
RUN = "/shared/runs/gpt-20261121-131500"
NASTY = 'it\'s "quoted"\n$(reboot) `reboot` \\ ; # end'

JOBS = {
    "gpt": {
        "arguments": {"steps": 300}, "nodes": 2, "gpus_per_node": 2, "user": "alice",
        "recovery": {"on_host_loss": "spare", "spare_nodes": 1}, "checkpoint": {"every": "25 steps"},
    },
    "nasty": {
        "recipe": None, "command": ["train.py", "--text", NASTY], "time": "1d", "team": "vision", "partition": "train",
        "environment": {
            "variables": {"GREETING": "it's \"$HOME\"; reboot"}, "modules": ["cuda"], "workdir": "/shared/alice/code",
            "python": "/opt/other/bin/python",
        },
    },
    "shrink": {
        "nodes": 4, "gpus_per_node": 4, "elastic": {"min_nodes": 2},
        "checkpoint": {"folder": "/shared/alice/gpt", "save_total_limit": 5},
        "recovery": {"on_host_loss": "shrink", "restarts": 1, "successors": 2, "heartbeat_timeout": "10s"},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", JOBS)
def test_the_script_is_the_golden_one(name, cluster, a_job, golden):
    """Every word of it is reviewed; `pytest --golden` writes it anew."""
    text = script(a_job(**JOBS[name]), cluster, RUN)
    path = GOLDEN / f"{name}.sh"
    if golden:
        path.write_text(text)

    assert text == path.read_text()


@pytest.mark.parametrize("name", JOBS)
def test_bash_can_read_it(name, cluster, a_job):
    """`bash -n` finds nothing."""
    text = script(a_job(**JOBS[name]), cluster, RUN)
    done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def run_with_fake_python(text, tmp_path):
    """Run the script with a program for Python that shows what it was given."""
    shown, fake = tmp_path / "shown", tmp_path / "python"
    fake.write_text(
        f'#!/bin/bash\nprintf "%s\\0" "$@" > {shown}\nprintf "%s" "$GREETING" > {shown}.greeting\n'
    )
    fake.chmod(0o755)
    text = re.sub(r"^exec \S+", f"exec {fake}", text, flags=re.MULTILINE)
    subprocess.run(["bash"], input="module() { :; }\n" + text, text=True, check=True)
    return shown.read_bytes().decode().split("\0")[:-1], (tmp_path / "shown.greeting").read_text()


def test_quotes_newlines_and_dollars_arrive_as_they_are(cluster, a_job, tmp_path):
    """What the job file says is data: no shell on the way reads it."""
    job, run = a_job(**JOBS["nasty"]), str(tmp_path / "a run")
    text = with_record(script(job, cluster, run), run, record(job, cluster, run, 1.5))
    arguments, greeting = run_with_fake_python(text, tmp_path)

    assert arguments == [f"{LIBRARY}/{FILE}", "clusterwright.onhost.supervisor.supervisor", run]
    assert read_record(run).launch.command == ("train.py", "--text", NASTY)
    assert greeting == 'it\'s "$HOME"; reboot'


@pytest.mark.parametrize("name", JOBS)
def test_the_supervisor_reads_the_record(name, cluster, a_job, tmp_path):
    """Both sides of job.json agree."""
    job = a_job(**JOBS[name])
    (tmp_path / "job.json").write_text(record(job, cluster, RUN, 1.5))
    found = read_record(str(tmp_path))

    assert (found.run, found.local, found.job.nodes) == (RUN.rpartition("/")[2], False, job.nodes)
    assert (found.job.gpus_per_node, found.job.time) == (job.gpus_per_node, job.time)
    assert found.job.recovery._asdict() == job.recovery.model_dump()
    assert found.min_nodes == (job.elastic.min_nodes if job.elastic else job.nodes)
    assert (found.launch.management, found.launch.compute) == ("10.77.0.0/24", "10.77.1.0/24")
    assert found.launch == launch_of(job, cluster, RUN)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda whole: whole["job"].pop("time"), "missing field job.time; submit the job again"),
        (
            lambda whole: whole["job"]["checkpoint"].update(speed=1),
            "unknown field job.checkpoint.speed; a newer version",
        ),
        (lambda whole: whole["launch"].pop("gres"), "missing field launch.gres; submit the job again"),
        (lambda whole: whole.update(x=1, y=2), "unknown field x, y; a newer version"),
    ],
)
def test_a_record_of_another_release_names_its_file_and_the_field(change, problem, cluster, a_job, tmp_path):
    """A policy that nobody heeds is worse than a job that does not begin."""
    whole = json.loads(record(a_job(), cluster, RUN, 1.5))
    change(whole)
    (tmp_path / "job.json").write_text(json.dumps(whole))

    with pytest.raises(InvalidRecordError, match=re.escape(f"{tmp_path}/job.json: {problem}")):
        read_record(str(tmp_path))


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"gpus_per_node": 5}, "too-many-gpus"),
        ({"nodes": 4, "recovery": {"on_host_loss": "spare", "spare_nodes": 1}}, "too-many-nodes"),
        ({"partition": "debug"}, "unknown-name"),
        ({"container": {"image": "/shared/torch.sqsh"}}, "container-runtime"),
        ({"data": [{"path": "/shared/text", "stage": "local"}]}, "no-scratch"),
    ],
)
def test_a_job_that_does_not_fit_is_refused(fields, code, cluster, a_job):
    """Before anything is submitted, with both sides of the equation."""
    with pytest.raises(WrightError) as refused:
        script(a_job(**fields), cluster, RUN)

    assert refused.value.findings[0].code == code


@pytest.mark.parametrize("share", ["me", "team", "everyone"])
def test_a_job_stages_copies_of_its_user_unless_the_team_is_typed_for_a_folder(share, a_job, tmp_path):
    """Whoever may read the run: members of a team could put other bytes into shared copies."""
    text = (GOLDEN.parents[2] / "examples" / "lab" / "cluster.yaml").read_text()
    (tmp_path / "cluster.yaml").write_text(text.replace("    # disks:", "    disks:"))
    cluster = load_cluster(tmp_path / "cluster.yaml")
    data = [{"path": f"/shared/{name}", "stage": "local"} for name in ("text", "images")]

    assert " /scratch /shared/text /shared/images || exit" in script(
        a_job(data=data, share=share), cluster, RUN
    )
    data[0]["share"] = "team"
    assert " /scratch /shared/images --team /shared/text || exit" in script(
        a_job(data=data, share=share), cluster, RUN
    )


def test_without_a_compute_network_ranks_use_management(cluster, a_job):
    """The only network carries the gradients then."""
    one = cluster.model_copy(update={"networks": cluster.networks.model_copy(update={"compute": None})})

    assert launch_of(a_job(), one, RUN).compute == "10.77.0.0/24"


def test_true_is_the_bare_option_and_false_is_none(cluster, a_job):
    """As argparse's store_true wants it."""
    job = a_job(arguments={"compile": True, "profile": False, "learning_rate": 0.001})

    assert launch_of(job, cluster, RUN).command == (
        "-m", "clusterwright.runtime.recipes.gpt", "--compile", "--learning-rate=0.001",
    )  # fmt: skip


def test_what_the_cluster_sets_for_all_jobs_is_said_and_a_job_may_say_otherwise(cluster, a_job):
    """The job's own value wins, and each variable is exported once."""
    variables = {"NCCL_ALGO": "Tree", "OMP_NUM_THREADS": "4"}
    tuned = cluster.model_copy(update={"jobs": cluster.jobs.model_copy(update={"variables": variables})})
    text = script(a_job(environment={"variables": {"OMP_NUM_THREADS": "8"}}), tuned, RUN)

    assert "export NCCL_ALGO=Tree\n" in text
    assert "export OMP_NUM_THREADS=8\n" in text
    assert "OMP_NUM_THREADS=4" not in text
