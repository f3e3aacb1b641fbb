"""Real trainings under real Slurm that make room for others, lose slurmd, and grow again. Needs root."""

import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.provision.apply import apply, remote_of

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(600)]
EXAMPLE = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "grow-test", "10.192."
FOR_EVER = 1_000_000

# Two hosts, and a quality of service that pushes another one aside.
VALUES = {
    "name": NAME,
    "nodes": {"a100": {"hosts": "gpu-node[1-2]"}},
    "slurm": {"node_timeout": "1m", "kill_wait": "2s"},
    "qos": {
        "urgent": {"priority": 100, "preempts": ["scavenger"]},
        "scavenger": {"grace": "30s", "preempt_mode": "cancel"},
    },
}


@pytest.fixture(scope="module")
def lab_cluster(tmp_path_factory, lab_of):
    """A lab of its own, since only this one has an accounting database; up and applied, gone at the end."""
    file, yaml = tmp_path_factory.mktemp("lab") / "cluster.yaml", YAML()
    document = yaml.load(EXAMPLE.read_text().replace("10.77.", SUBNETS))
    document["nodes"]["a100"].update(VALUES["nodes"]["a100"])
    document["slurm"].update(VALUES["slurm"])
    document.update({"name": NAME, "qos": VALUES["qos"]})
    yaml.dump(document, file)
    cluster = load_cluster(file)
    made = lab_of(file, cluster, remote_of(cluster))
    try:
        lab.up(made.cluster)
        report = apply(made.cluster, str(file), made.remote)
        assert not report.failed, report
        made.sh("control", "sacctmgr -i modify user alice set defaultqos=scavenger")
        yield made
    finally:
        assert lab.down(NAME) == []


def test_a_training_that_is_pushed_aside_goes_on_where_it_left(training):
    """Slurm gives it a grace time; the ranks save, and the successor begins when the urgent job is over."""
    pushed = training(FOR_EVER)
    pushed.until_step(10)
    urgent = "sbatch --parsable -q urgent -N 2 --gpus-per-node=4 -o /dev/null --wrap 'sleep 5'"
    pushed.where.sh("control", f"cd /tmp && runuser -u bob -- {urgent}")
    stopped = pushed.until("stopped")[0]
    resumed = pushed.until("resumed", generation=2)
    pushed.cancel()

    assert stopped["reason"] in ("signal", "stop file")
    assert pushed.events("successor")[0]["reason"] == "preempted"
    assert {one["step"] for one in resumed} == {stopped["step"]}
    assert len(pushed.events("job_start")) == 2
    assert pushed.events("step", generation=2)[0]["step"] == stopped["step"] + 1


def test_a_killed_slurmd_disturbs_no_training(training):
    """It is started again by systemd; the ranks are slurmstepd's, and go on all the while."""
    going = training(FOR_EVER)
    going.until_step(10)
    batch = going.until("job_start")[0]["host"]
    other = next(host for host in going.until("generation_start")[0]["hosts"] if host != batch)
    was = going.where.sh(other, "systemctl show -p MainPID --value slurmd").strip()
    going.where.sh(other, f"kill -9 {was}")
    end = time.monotonic() + 60
    while (now := going.where.sh(other, "pgrep -o slurmd || true").strip()) in ("", was):
        assert time.monotonic() < end
        time.sleep(0.3)
    step = going.events("step")[-1]["step"]
    going.until_step(step + 40)
    going.cancel()

    assert now != was
    assert len(going.events("generation_start")) == 1
    assert not going.events("host_lost")
    assert [one["step"] for one in going.events("step")] == list(
        range(1, going.events("stopped")[0]["step"] + 1)
    )


def test_a_host_that_is_back_is_taken_in_without_losing_a_step(training):
    """It was powered off, and the training went on without it; Slurm has not yet given it up."""
    shrunk = training(
        FOR_EVER,
        recovery={"on_host_loss": "shrink"},
        elastic={"min_nodes": 1},
        checkpoint={"every": "100000 steps"},
    )
    shrunk.until_step(10)
    batch = shrunk.until("job_start")[0]["host"]
    victim = next(host for host in shrunk.until("generation_start")[0]["hosts"] if host != batch)
    lab.fault(NAME, "kill-host", victim)
    shrunk.until("step", generation=2)
    lab.undo(NAME, "all")
    grown = shrunk.until("generation_start", generation=3)[0]
    first = shrunk.until("step", generation=3)[0]
    stopped = shrunk.events("stopped", generation=2)
    last = shrunk.events("step", generation=2)[-1]
    shrunk.cancel()

    hosts = [one["hosts"] for one in shrunk.events("generation_start")]
    assert hosts[1:] == [[batch], [batch, victim]], shrunk.said()
    assert [one["reason"] for one in stopped] == ["regroup"]
    assert grown["source"] == "memory"
    assert first["step"] - 1 == grown["step"] == stopped[0]["step"] == last["step"]
    assert len(shrunk.events("job_start")) == 1
