"""Samples of a host's ranks: memory with loader workers, times from the progress pages, at growing intervals."""

import json
import os
import signal
import subprocess
import sys

import pytest

from clusterwright.onhost.supervisor.folder import Events, Folder
from clusterwright.onhost.supervisor.hang.progress import RANK_TIME, STEP, WAIT_TIME, Pages
from clusterwright.onhost.supervisor.host.samples import Samples, resident_bytes

HOLD = "import sys, time; held = b'x' * (64 << 20); sys.stdout.write('!'); sys.stdout.flush(); time.sleep(60)"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}])"


@pytest.fixture
def rank():
    """A process whose child holds 64 MiB, as a loader worker."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout.read(1) == b"!"
        yield process.pid
        os.killpg(process.pid, signal.SIGKILL)


def written(folder):
    """The samples in the folder."""
    return [json.loads(line) for line in (folder / "samples" / "n1.jsonl").read_text().splitlines()]


def test_memory_includes_that_of_loader_workers(rank):
    """A process that has ended has none."""
    sizes = resident_bytes([rank, 4_000_000_000])

    assert 64 << 20 < sizes[0] < 512 << 20
    assert sizes[1] == 0


def test_samples_have_the_ranks_own_times(tmp_path, rank):
    """By local rank, in seconds; zeros for ranks of a launcher, which have no pages."""
    pages = Pages(1)
    pages[0][STEP], pages[0][RANK_TIME], pages[0][WAIT_TIME] = 7, 2_500_000_000, 1_000_000_000
    samples = Samples(Events(Folder(str(tmp_path)), "n1", "n1", subfolder="samples"))
    samples.begin(100.0)
    samples.poll([rank], pages, 3, 101.0)
    samples.poll([rank], None, 3, 102.0)
    pages.close()
    first, second = written(tmp_path)

    assert (first["generation"], first["step"], first["own"], first["waited"]) == (3, [7], [2.5], [1.0])
    assert first["available"] > 0
    assert (second["step"], second["own"]) == ([0], [0.0])


def test_intervals_grow_with_the_time(tmp_path):
    """Some 500 in a day, none before a generation starts, and none while a rank is missing."""
    samples = Samples(Events(Folder(str(tmp_path)), "n1", "n1", subfolder="samples"))
    samples.poll([1], None, 0, 50.0)
    samples.begin(0.0)
    samples.poll([], None, 1, 5.0)
    assert not (tmp_path / "samples" / "n1.jsonl").exists()
    for second in range(0, 86400, 10):
        if second % 600 == 0 or second < 3000:
            samples.poll([1], None, 1, float(second))

    assert 150 < len(written(tmp_path)) < 700
