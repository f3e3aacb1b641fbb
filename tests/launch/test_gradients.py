"""How gradients are added up, as a job file says it and as ranks read it."""

import json

import pytest

pytest.importorskip("torch")

from clusterwright.config.job import Gradients, Outer
from clusterwright.launch.variables import gradients as variables
from clusterwright.runtime.gradients import settings
from clusterwright.runtime.outer import settings as of_outer
from clusterwright.units import MiB


def test_only_what_differs_from_torch_is_told(a_job):
    """A whole number of MiB stays one."""
    assert variables(a_job()) == {}
    assert variables(a_job(gradients={"bucket": "8MiB", "compress": "bf16"})) == {
        "CLUSTERWRIGHT_GRADIENT_BUCKET_MIB": "8", "CLUSTERWRIGHT_GRADIENT_COMPRESS": "bf16",
    }  # fmt: skip
    assert variables(a_job(gradients={"bucket": f"{MiB * 3 // 2}B"})) == {
        "CLUSTERWRIGHT_GRADIENT_BUCKET_MIB": "1.5"
    }


@pytest.mark.parametrize(
    "said",
    [
        {"compress": "power"},
        {"compress": "power", "rank": 2, "warm_up": 30, "bucket": "4MiB"},
        {"compress": "fp16", "hierarchical": True},
    ],
)
def test_ranks_read_what_the_file_says(a_job, said):
    """Both sides have the same names, and the same defaults."""
    read, meant = settings.read(variables(a_job(gradients=said))), Gradients.model_validate(said)

    assert (read.compress, read.hierarchical) == (meant.compress, meant.hierarchical)
    assert (read.rank, read.warm_up) == (meant.rank, meant.warm_up)
    assert read.bucket_mib == (meant.bucket and meant.bucket / MiB)


@pytest.mark.parametrize("said", [{"every": 50}, {"every": 8, "lr": 1, "momentum": 0, "bits": 8}])
def test_ranks_read_how_often_they_meet(a_job, said):
    """The whole section, as JSON."""
    read, meant = of_outer.read(variables(a_job(outer=said))), Outer.model_validate(said)

    assert vars(read) == meant.model_dump()
    assert json.loads(variables(a_job(outer=said))[of_outer.VARIABLE])["every"] == said["every"]
