"""Ranks that srun started."""

import os
import pwd

import pytest

pytest.importorskip("torch")

from clusterwright.provision.render.ssh_config import CLUSTER_KEYS
from clusterwright.runtime import slurm

pytestmark = pytest.mark.train

STEP = {
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_NTASKS": "4",
    "SLURM_JOB_ID": "1234",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "gpu-node[03-04]",
    "SLURM_JOB_NODELIST": "gpu-node[01-04]",
}
ALONE = {**STEP, "SLURM_STEP_NUM_TASKS": "1"}
BATCH = {name: value for name, value in STEP.items() if "STEP" not in name}


@pytest.mark.parametrize(
    ("nodelist", "first"),
    [
        ("gpu-node[03-05,9],x1", "gpu-node03"), ("linux[1,2]", "linux1"), ("login", "login"), ("a,b", "a"),
        ("rack[1-2]n[01-04]", "rack1n01"), ("n[001]", "n001"), ("n[1-2].example,m", "n1.example"), ("", ""),
    ],
)  # fmt: skip
def test_the_first_host_of_a_list(nodelist, first):
    """Zeros kept, several brackets, names without numbers."""
    assert slurm.first_host(nodelist) == first


def test_a_step_of_several_tasks_becomes_ranks():
    """The hosts are the step's, not the job's."""
    environ = dict(STEP)
    slurm.adopt(environ)

    assert {name: environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR")} == {
        "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "gpu-node03",
    }  # fmt: skip
    assert 20_000 <= int(environ["MASTER_PORT"]) < 28_000


def test_other_users_cannot_predict_the_port(tmp_path, monkeypatch):
    """It follows from the user's cluster key, so it is the same for all tasks, and another one after a restart."""

    def port(key, **changes):
        (tmp_path / pwd.getpwuid(os.getuid()).pw_name).write_text(key)
        environ = STEP | changes
        slurm.adopt(environ)
        return environ["MASTER_PORT"]

    assert str(slurm._KEYS) == CLUSTER_KEYS
    monkeypatch.setattr(slurm, "_KEYS", tmp_path)
    assert port("bob's") == port("bob's", SLURM_PROCID="0", SLURM_LOCALID="0")
    others = [port("eve's"), port("bob's", SLURM_STEP_ID="1"), port("bob's", SLURM_RESTART_COUNT="1")]
    assert len({port("bob's"), *others}) == 4


def test_what_is_set_stays():
    """The user's address and port, whatever Slurm says."""
    environ = {**STEP, "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "5"}
    slurm.adopt(environ)

    assert (environ["MASTER_ADDR"], environ["MASTER_PORT"], environ["RANK"]) == ("10.0.0.1", "5", "3")


@pytest.mark.parametrize(
    "environ",
    [{}, {**STEP, "RANK": "0"}, BATCH, ALONE],
    ids=["no Slurm", "torchrun inside a step", "a batch script", "a step of one task"],
)
def test_whoever_is_not_one_of_several_tasks_is_left_alone(environ):
    """A batch script with --ntasks=4 has SLURM_PROCID=0, and would wait for three ranks that never come."""
    before = dict(environ)
    slurm.adopt(environ)

    assert environ == before
