"""Runs as event files tell them, for the pure parts; every form is the one of decision 0001."""

import json

import pytest

from clusterwright.check.verdict import Status, Verdict
from clusterwright.lab.demo.events import parse_events
from clusterwright.lab.demo.lanes import InjectedFault
from clusterwright.lab.demo.report import DemoFacts, DrawnCluster, DrawnHost, DrawnNetwork

ZERO = 1_764_000_000.0
STEPS, EVERY, EPOCH = 60, 10, 24
NETWORKS = ("management", "compute", "storage")


def loss(step):
    """A loss that falls, the same for the same step."""
    return 5.5 / (1 + step / 12) + 0.003 * ((step * 7919) % 13)


class Writer:
    """Writes events the way supervisor and ranks do."""

    def __init__(self):
        self.files = {}
        self.now = ZERO

    def say(self, file, event, host, generation, **more):
        """One line in one file, at this moment."""
        row = {"time": round(self.now, 4), "event": event, "host": host, "generation": generation, **more}
        self.files.setdefault(file, []).append(json.dumps(row))

    def ranks(self, generation, hosts, step):
        """Every rank starts, meets the others and loads."""
        began = self.now
        for kind, wait in (("process_start", 4.1), ("group_ready", 0.8), ("resumed", 0.4)):
            self.now += wait
            for rank in range(4):
                host = hosts[rank // 2]
                more = {"started": began + 0.9} if kind == "process_start" else {}
                if kind == "resumed":
                    more = {"step": step, "seconds": 0.3, "checkpoint": f"step-{step:08}"}
                self.say(f"rank-{rank}-{host}", kind, host, generation, rank=rank, **more)

    def steps(self, generation, host, first, last):
        """Rank 0 trains from one step to another and saves on the way."""
        for step in range(first, last + 1):
            self.now += 0.2
            value = loss(step)
            self.say(
                "rank-0",
                "step",
                host,
                generation,
                rank=0,
                step=step,
                loss=value,
                loss_hex=value.hex(),
                seconds=0.2,
                epoch=(step - 1) // EPOCH,
            )
            if step % EVERY == 0:
                self.now += 0.05
                for rank in range(4):
                    self.say(
                        f"rank-{rank}",
                        "checkpoint",
                        host,
                        generation,
                        rank=rank,
                        step=step,
                        seconds=0.05,
                        bytes=1000,
                    )

    def finish(self, generation, host):
        """The training is complete."""
        self.now += 0.1
        self.say(
            "rank-0",
            "finished",
            host,
            generation,
            rank=0,
            step=STEPS,
            loss=loss(STEPS),
            loss_hex=loss(STEPS).hex(),
        )
        self.now += 0.1
        self.say("supervisor", "generation_end", "gpu-node1", generation, reason="finished")
        self.now += 0.1
        self.say("supervisor", "job_end", "gpu-node1", generation, outcome="finished")

    def texts(self):
        """The files as they would be read."""
        return ["\n".join(lines) + "\n" for lines in self.files.values()]


def begin(writer, job):
    """A job of two hosts with a third held ready; its first generation."""
    writer.say(
        "supervisor", "job_start", "gpu-node1", 0, job_id=job, hosts=["gpu-node1", "gpu-node2", "gpu-node3"]
    )
    writer.now += 0.3
    writer.say(
        "supervisor",
        "generation_start",
        "gpu-node1",
        1,
        hosts=["gpu-node1", "gpu-node2"],
        address="10.0.0.1",
        port=29500,
    )
    writer.ranks(1, ["gpu-node1", "gpu-node2"], 0)


@pytest.fixture
def writer():
    """A new set of event files."""
    return Writer()


@pytest.fixture
def lost_host():
    """A training whose second host is killed after step 36, and the moment of the kill."""
    writer = Writer()
    begin(writer, 7)
    writer.steps(1, "gpu-node1", 1, 36)
    writer.now += 0.1
    killed = writer.now
    writer.now += 5.2
    writer.say("supervisor", "host_lost", "gpu-node1", 1, lost_host="gpu-node2", heartbeat_age_s=5.1)
    writer.now += 0.2
    writer.say("supervisor", "generation_end", "gpu-node1", 1, reason="host lost: gpu-node2")
    writer.now += 0.3
    writer.say(
        "supervisor",
        "generation_start",
        "gpu-node1",
        2,
        hosts=["gpu-node1", "gpu-node3"],
        address="10.0.0.1",
        port=29511,
    )
    writer.ranks(2, ["gpu-node1", "gpu-node3"], 30)
    writer.steps(2, "gpu-node1", 31, STEPS)
    writer.finish(2, "gpu-node1")
    return writer.texts(), killed


@pytest.fixture
def whole():
    """The same training without a fault."""
    writer = Writer()
    begin(writer, 8)
    writer.steps(1, "gpu-node1", 1, STEPS)
    writer.finish(1, "gpu-node1")
    return writer.texts()


@pytest.fixture
def lost_rank():
    """A training on one machine whose rank 2 is killed after step 36, and the moment."""
    writer = Writer()
    writer.ranks(0, ["here", "here"], 0)
    writer.steps(0, "here", 1, 36)
    killed = writer.now + 0.1
    writer.now += 3.0
    writer.ranks(0, ["here", "here"], 30)
    writer.steps(0, "here", 31, STEPS)
    writer.say(
        "rank-0", "finished", "here", 0, rank=0, step=STEPS, loss=loss(STEPS), loss_hex=loss(STEPS).hex()
    )
    return writer.texts(), killed


def drawn():
    """The example's lab, as the drawing sees it."""
    networks = tuple(
        DrawnNetwork(name, f"10.77.{n}.0/24", "1Gbit/s", "ethernet") for n, name in enumerate(NETWORKS)
    )
    control = DrawnHost("control", "control", ("management", "storage"), "10.77.0.10", 0, "", None)
    computes = [
        DrawnHost(f"gpu-node{n}", "compute", NETWORKS, f"10.77.0.1{n}", 4, "a100", "leaf1")
        for n in range(1, 5)
    ]
    return DrawnCluster("lab", "debian-12", networks, (control, *computes))


@pytest.fixture
def told(lost_host, whole):
    """A demo on a lab in which all happened that it claims."""
    killed = lost_host[1]
    return DemoFacts(
        mode="lab",
        created_at="2026-11-21 13:00:00 +0000",
        places=tuple(f"gpu-node{n}" for n in range(1, 5)),
        cluster=drawn(),
        seconds={
            "image": 0.1,
            "lab_up": 6.2,
            "apply": 21.4,
            "second_apply": 3.9,
            "check": 4.2,
            "train": 31.0,
        },
        second_apply_changes=0,
        verdicts=(
            *(Verdict("a", f"c{n}", Status.OK, "x") for n in range(9)),
            Verdict("a", "disk", Status.WARN, "<b>"),
        ),
        fault=InjectedFault("kill-host", "gpu-node2", None, killed, killed + 11, killed + 13),
        faulted=parse_events(lost_host[0])[0],
        uninterrupted=parse_events(whole)[0],
        checkpoint_every=EVERY,
        leftovers=(),
        software={"torch": "2.13.0"},
        machine={"cores": "2"},
    )


@pytest.fixture
def told_local(lost_rank, whole):
    """A demo on one machine in which all happened that it claims."""
    return DemoFacts(
        mode="local",
        created_at="2026-11-21 13:00:00 +0000",
        places=tuple(f"rank {rank}" for rank in range(4)),
        fault=InjectedFault("kill-rank", "here", 2, lost_rank[1]),
        faulted=parse_events(lost_rank[0])[0],
        uninterrupted=parse_events(whole)[0],
        checkpoint_every=EVERY,
        leftovers=(),
        reasons={"lab": "not root", "seconds.lab_up": "needs hosts"},
    )
