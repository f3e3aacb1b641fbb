"""`wright dev` while no GPU is free, on a lab."""

import signal
import time

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
FULL = "runuser -u alice -- sbatch -N2 --gres=gpu:4 --time={time} --chdir=/tmp --wrap 'sleep 600'"


@pytest.fixture
def full(dev):
    """Every GPU is alice's for ten minutes."""
    dev.sh("control", FULL.format(time=10))
    dev.until("squeue -h -o %T", "RUNNING")
    return dev


def queued(dev, limit_s=60):
    """Wait for bob's job in the queue; its id."""
    end = time.monotonic() + limit_s
    while not (job := dev.sh("control", "squeue -h -u bob -t PENDING -o %A").strip()):
        assert time.monotonic() < end
        time.sleep(0.3)
    return job


def test_the_reason_and_the_expected_start_are_said_and_it_is_left_waiting(full):
    """After --wait it stays in the queue, and is joined later on."""
    process = full.begin("--wait", "45s")
    _, said = process.communicate(timeout=120)

    assert process.returncode == 0
    assert "waits: Resources" in said or "waits: Priority" in said, said
    assert "Slurm expects it to start at 20" in said, said
    assert "the job is pending; `wright dev` joins it" in said
    full.sh("control", "scancel -u alice")
    up = full.up()
    assert (up["joined"], up["gpus"]) == (True, "0")


def test_ctrl_c_takes_it_out_of_the_queue(full):
    """Nothing is asked, and nothing is left."""
    process = full.begin()
    job = queued(full)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert process.returncode == 130
    assert f"job {job} was canceled" in said
    assert full.sh("control", "squeue -h -u bob") == ""


def test_a_terminal_that_is_closed_takes_it_out_of_the_queue_too(full):
    """As salloc does: a job that nobody waits for would start some night."""
    process = full.begin()
    queued(full)
    process.kill()
    process.communicate(timeout=60)

    full.until("squeue -h -u bob", "")


def test_ctrl_c_leaves_a_session_that_was_there_before(full):
    """It says how to come back, and how to end it."""
    full.leave_waiting()
    job = queued(full)
    process = full.begin()
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)

    assert f"job {job} goes on" in said
    assert queued(full) == job


def test_every_gpu_of_a_host_can_be_had(dev):
    """With all of its CPUs, and the memory that Slurm has of it."""
    assert dev.up("--shell", "--gpus", 4)["gpus"] == "0,1,2,3"


def test_what_slurm_refuses_is_said_in_its_words(dev):
    """A team that bob is not in."""
    said = dev.refused("--account", "language")

    assert "error[slurm-said]" in said
    assert "Invalid account" in said


def test_root_has_no_session(dev):
    """As with a training: name a user."""
    done = dev.plain()

    assert done.returncode == 1
    assert "error[root-job]" in done.stderr
