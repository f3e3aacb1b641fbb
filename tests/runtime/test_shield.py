"""Signals that go to all processes of a step, as Slurm sends them."""

import os
import signal
import subprocess

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader

from clusterwright.runtime import shield

pytestmark = pytest.mark.train


@pytest.mark.parametrize(
    "how", [{"TOY_WORKERS": 2}, {"TOY_WORKERS": 2, "TOY_PERSISTENT": 1}], ids=["go", "stay"]
)
def test_workers_outlive_the_signal_and_a_second_one_ends_no_save(train, how):
    """SIGTERM to a rank and all its workers in step 5, and to the rank again in its save: all is saved, exit code 0."""
    stopped = train(script="loading", TOY_TERM="1:5", TOY_UNTIL=5000, **how)

    assert stopped.codes == [0, 0], stopped.log
    (event,) = stopped.events("stopped")
    assert event["reason"] == "signal"
    assert stopped.checkpoints()[-1] == f"step-{event['step']:08d}"


def test_a_rank_ends_its_own_workers():
    """By the very signal that they do not hear from others; and what the script wanted them to do first, they do."""
    loader = DataLoader(range(100), num_workers=1, worker_init_fn=_mark)
    batches = shield.iterate(loader)
    next(batches)
    (worker,) = batches._workers
    assert os.environ.get("SHIELD_TEST") is None

    subprocess.run(["kill", "-USR1", str(worker.pid)], check=True)
    assert next(batches) is not None
    worker.terminate()
    worker.join(10)
    assert worker.exitcode == 0
    del batches


def test_what_has_no_workers_is_iterated_as_it_is():
    """Lists, samplers, loaders that work in this process."""
    assert list(shield.iterate([1, 2])) == [1, 2]
    assert len(list(shield.iterate(DataLoader(range(4), batch_size=2)))) == 2
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def _mark(worker):
    os.environ["SHIELD_TEST"] = str(worker)
