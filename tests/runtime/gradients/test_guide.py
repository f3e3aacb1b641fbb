"""docs/guides/slow-networks.md does what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.config.load import job_of
from clusterwright.config.reader import read

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "slow-networks.md").read_text()
WAYS = sorted(set(re.findall(r"^\| `((?:gradients|outer): [^`]+)` \|", GUIDE, flags=re.MULTILINE)))


def test_its_command_gives_the_table():
    """With every way that stands in the guide's own."""
    (line,) = re.findall(r"^\$ wright (.*)$", GUIDE, flags=re.MULTILINE)
    command = [sys.executable, "-c", "from clusterwright.cli import main; main()", *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "compress: int8, bucket: 4MiB" in done.stdout
    assert len(WAYS) == 6


@pytest.mark.parametrize("way", WAYS)
def test_each_way_is_taken_by_a_job_file(way):
    """As it stands there."""
    job = f"name: j\nrecipe: gpt\nnodes: 4\ntime: 30m\n{way}\n"

    assert job_of(read(job, "job.yaml")).nodes == 4
