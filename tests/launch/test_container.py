"""A job in an image, as a script."""

import shlex
import subprocess

import pytest

from clusterwright.config.environments import Environments
from clusterwright.config.rules import clashes
from clusterwright.errors import SpecError
from clusterwright.launch.command import launch_of
from clusterwright.launch.script import script

RUN = "/shared/runs/gpt-20261121-131500"
PYXIS = "/shared:/scratch/c:/opt/clusterwright:/data"


@pytest.fixture
def offering(cluster):
    """The lab with these runtimes."""

    def make(*runtimes):
        told = Environments.model_validate(
            {"containers": runtimes, "caches": {"local": "/scratch/c"}}, strict=False
        )
        return cluster.model_copy(update={"environments": told})

    return make


@pytest.mark.parametrize(
    ("image", "offered", "expected"),
    [
        ("/shared/images/torch", ("oci", "pyxis"), ("oci", "/data")),
        ("/shared/images/t.sif", ("oci", "apptainer"), ("apptainer", "/data")),
        ("/shared/images/t.sqsh", ("oci", "pyxis"), ("pyxis", PYXIS)),
        ("nvcr.io#nvidia/pytorch:25.09", ("pyxis",), ("pyxis", PYXIS)),
        ("docker://nvcr.io/nvidia/pytorch:25.09", ("apptainer", "pyxis"), ("apptainer", "/data")),
    ],
)  # fmt: skip
def test_the_first_runtime_that_can_start_the_image_does(image, offered, expected, offering, a_job):
    """A folder is an OCI bundle, .sqsh is enroot's, .sif Apptainer's; pyxis is told what all others see anyway."""
    job, (runtime, mounts) = a_job(container={"image": image, "mounts": ["/data"]}), expected
    text = script(job, offering(*offered), RUN)
    words = launch_of(job, offering(*offered), RUN).image

    assert words == (runtime, image, mounts, "python3")
    assert f"supervisor.inside {shlex.join((RUN, *words))} || exit 1\n" in text
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0


def test_the_image_is_looked_at_before_anything_waits_for_it(offering, a_job):
    """And the supervisor runs outside, with whatever Python there is."""
    text = script(a_job(container={"image": "/shared/i", "mounts": ["/data"]}), offering("oci"), RUN)

    assert text.index("run_module.py clusterwright.onhost.supervisor.inside") < text.index('exec "$outside"')
    assert "export CLUSTERWRIGHT_MOUNTS=/data\n" in text
    assert 'export TRITON_CACHE_DIR="/scratch/c/$USER/triton"\n' in text


def test_a_lost_host_ends_the_job_only_where_nobody_inside_can_call_slurm(offering, a_job):
    """Else it would run for ever without its supervisor."""
    texts = [
        script(a_job(container={"image": image}), offering(runtime), RUN)
        for image, runtime in (("/shared/i", "oci"), ("/shared/i.sqsh", "pyxis"))
    ]

    assert ["--no-kill" in text for text in texts] == [True, False]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"container": {"image": "/shared/i.sif"}}, "container-runtime"),
        ({"container": {"image": "/opt/images/i"}}, "folder-not-shared"),
    ],
)
def test_what_cannot_be_is_refused_before_it_is_submitted(fields, code, offering, a_job):
    """A runtime that is not offered, and an image that one host has."""
    with pytest.raises(SpecError) as refused:
        script(a_job(**fields), offering("oci"), RUN)

    assert code in {finding.code for finding in refused.value.findings}


@pytest.mark.parametrize(
    "mounts", [["/usr/share"], ["/opt"], ["/opt/clusterwright/lib"], ["/"], ["/data", "/data"]]
)
def test_a_mount_over_the_image_s_own_or_over_ours_is_refused(mounts, a_job):
    """Within such a folder, above it, or twice."""
    found = list(clashes("job", a_job(container={"image": "/shared/i", "mounts": ["/code", *mounts]})))

    assert {clash.code for clash in found} == {"container-mount"}


def test_without_caches_and_image_the_script_says_nothing_of_them(cluster, a_job):
    """The golden scripts are those of before."""
    text = script(a_job(), cluster, RUN)

    assert "CACHE" not in text
    assert "inside" not in text
