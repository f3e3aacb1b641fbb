"""`wright upgrade`: one thing at a time, and the driver only where its packages are ours."""

from pathlib import Path

import pytest

from clusterwright.cli.upgrade import upgrade
from clusterwright.errors import SpecError, WrightError

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NVIDIA = """
software:
  driver: "570.26.00"  # ours
  cuda: "12.8.1"
  nvidia: {fabric_manager: always}
"""


@pytest.fixture
def file(tmp_path):
    """The lab's example, with this behind it."""

    def write(more=""):
        path = tmp_path / "cluster.yaml"
        path.write_text(EXAMPLE.read_text() + more)
        return path

    return write


@pytest.mark.parametrize("what", [{}, {"slurm": "26.05", "driver": "580.95.05"}])
def test_one_thing_is_upgraded_at_a_time(file, what):
    """They are upgraded in different ways."""
    with pytest.raises(WrightError, match="--slurm VERSION or --driver VERSION") as error:
        upgrade(cluster=file(), **what)

    assert error.value.exit_code == 2


@pytest.mark.parametrize("batch", ["101%", "0", "half", "%"])
def test_a_batch_is_what_it_is_for_apply(file, batch):
    """A number of hosts, or a part of them that is no more than all."""
    with pytest.raises(WrightError, match="--batch 25%"):
        upgrade(cluster=file(), slurm="26.05", batch=batch)


def test_a_driver_that_is_not_ours_is_not_upgraded(file):
    """It says how it becomes ours."""
    with pytest.raises(WrightError, match=r"has no software\.nvidia"):
        upgrade(cluster=file(), driver="580.95.05")


def test_a_driver_that_the_file_could_not_have_is_refused_before_any_host_is_asked(file):
    """Too old for the CUDA, or only half a version; the file stays as it was."""
    path = file(NVIDIA)
    before = path.read_text()

    for version, code in (("470.256.02", "driver-too-old"), ("580.95", "version-not-whole")):
        with pytest.raises(SpecError) as error:
            upgrade(cluster=path, driver=version)
        assert code in {finding.code for finding in error.value.findings}
    assert path.read_text() == before
