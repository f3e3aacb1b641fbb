"""What a line with srun requests beyond its size: MPI plug-ins, containers of pyxis, GPUs."""

import shlex

import pytest

from clusterwright.config.job import Job
from clusterwright.edge.fakes import FakeRemote
from clusterwright.errors import WrightError
from clusterwright.launch.lines.mpi import requested_mpi, require_mpi
from clusterwright.launch.lines.prepare import prepare
from clusterwright.launch.submission import submit
from clusterwright.slurm.mpi_plugins import parse_mpi_plugins

LISTED = """MPI plugin types are...
\tnone
\tcray_shasta
\tpmi2
\tpmix
specific pmix plugin versions available: pmix_v4
"""
OLD = "srun: MPI types are...\nsrun: none\nsrun: pmi2\n"
PMIX_V3 = "srun --mpi=pmix_v3 -N2 -n4 python train.py"


def job(line, **fields):
    """A job with this line as arguments."""
    values = {"name": "x", "program": shlex.split(line), "launcher": "batch", "time": "10m", "nodes": 2}
    return Job.model_validate({**values, "gpus_per_node": 2, **fields}, strict=False)


def with_runtimes(cluster, *runtimes):
    """The cluster with these container runtimes."""
    environments = cluster.environments.model_copy(update={"containers": runtimes})
    return cluster.model_copy(update={"environments": environments})


def test_the_list_of_every_release_is_read():
    """With versions; any other text is no list."""
    assert parse_mpi_plugins(LISTED) == ("none", "cray_shasta", "pmi2", "pmix", "pmix_v4")
    assert parse_mpi_plugins(OLD) == ("none", "pmi2")
    assert parse_mpi_plugins("srun: command not found\n") == ()


def test_a_plugin_that_slurm_has_not_is_refused_with_those_that_it_has():
    """And with the right option; without an answer nothing is refused."""
    with pytest.raises(WrightError) as error:
        require_mpi(requested_mpi(PMIX_V3.split()), LISTED, "head")

    assert error.value.code == "mpi-plugin"
    assert "`--mpi=pmix_v3`, but Slurm on head has none, cray_shasta, pmi2, pmix, pmix_v4" in str(error.value)
    assert "write `--mpi=pmix`" in str(error.value)
    require_mpi(("pmix_v4", "pmix"), LISTED, "head")
    require_mpi(("pmix_v3",), "", "head")


def test_only_a_literal_plugin_is_compared():
    """Also in a line for a shell."""
    assert requested_mpi(["bash", "-c", PMIX_V3]) == ("pmix_v3",)
    assert requested_mpi(["bash", "-c", "srun --mpi=$TYPE a.out; srun --mpi=list"]) == ()


def test_slurm_is_asked_before_submission(cluster):
    """Nothing is submitted."""
    remote = FakeRemote(lambda _host, _command, _stdin: LISTED)
    with pytest.raises(WrightError) as error:
        submit(job(PMIX_V3), cluster, remote)

    assert error.value.code == "mpi-plugin"
    assert remote.calls == [(cluster.control.name, "srun --mpi=list")]


def test_a_container_of_pyxis_needs_pyxis(cluster):
    """Refused, with the way to it."""
    line = (
        "srun --container-image=nvcr.io#nvidia/pytorch:23.10-py3 --container-mounts=/a:/a,/b:/c python t.py"
    )
    with pytest.raises(WrightError) as error:
        prepare(job(line), with_runtimes(cluster))

    assert error.value.code == "no-pyxis"
    assert "--container-image --container-mounts" in str(error.value)
    assert "environments: {containers: [pyxis]}" in str(error.value)
    prepare(job(line), with_runtimes(cluster, "pyxis"))


def test_an_image_that_another_runtime_starts_has_the_right_line(cluster):
    """As a container of the job."""
    line = "srun -l --container-image /shared/images/torch --container-mounts=/data:/data python t.py"
    with pytest.raises(WrightError) as error:
        prepare(job(line), with_runtimes(cluster, "oci"))

    assert (
        "wright train --nodes 2 --gpus 2 --set container.image=/shared/images/torch "
        "--set 'container.mounts=[/data]' -- python t.py"
    ) in str(error.value)


def test_tasks_without_gpus_are_said(cluster):
    """The job requests them; a line that does is left alone."""
    (note,) = prepare(job("srun -N2 -n4 python train.py"), cluster).notes

    assert "srun alone gets no GPU without `--gres=gpu" in str(note)
    assert prepare(job("srun -N2 -n4 --gres=gpu:2 python train.py"), cluster).notes == ()


@pytest.mark.parametrize(
    ("text", "launcher", "notes"),
    [
        ("import os\nos.environ['SLURM_LOCALID']\n", "srun", 1),
        ("import os\nos.environ.get('LOCAL_RANK', os.environ.get('SLURM_LOCALID'))\n", "agent", 0),
        ("print(1)\n", "agent", 0),
    ],
)
def test_a_script_that_reads_the_numbers_of_tasks_is_started_as_tasks(
    cluster, tmp_path, text, launcher, notes
):
    """Unless it reads its rank too."""
    (tmp_path / "train.py").write_text(text)
    fields = {"program": None, "command": ["train.py"], "code": {"folder": "."}}
    values = {"name": "x", "time": "10m", **fields}
    found = prepare(Job.model_validate(values, strict=False), cluster, tmp_path)

    assert (found.job.launcher, len(found.notes)) == (launcher, notes)


def test_tasks_that_read_their_rank_are_said(cluster, tmp_path):
    """Slurm sets none; the job does."""
    (tmp_path / "train.py").write_text("import torch.distributed as dist\ndist.init_process_group('gloo')\n")
    line = job("srun --gres=gpu:2 python train.py", code={"folder": "."})

    assert "Slurm sets no RANK" in str(prepare(line, cluster, tmp_path).notes[0])
