"""The keeper in a world whose clock we turn: Slurm's power saving, and hosts whose provider is not always honest."""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import settings as tries
from hypothesis import strategies as st

from clusterwright.onhost import power
from clusterwright.onhost.power import actions, decide
from clusterwright.onhost.power.keeper import Keeper
from clusterwright.onhost.power.providers import Provider, Refusal
from clusterwright.onhost.power.records import Records
from clusterwright.onhost.power.settings import PowerSettings
from clusterwright.slurm.drain_reasons import parse_drain_reason
from clusterwright.slurm.nodes import parse_node, parse_nodes
from clusterwright.slurm.states import BASES

BOOT_S, IDLE_S = 8, 30
OF = PowerSettings(
    provider={"kind": "lab"}, hosts={"n1": {}, "n2": {}, "n3": {}}, resume_timeout=60, suspend_timeout=20,
    spares=0, max_attempts=3, retry_after=10,
)  # fmt: skip
OFF = frozenset({"IDLE", "POWERED_DOWN"})


class Row(NamedTuple):
    """A host as the world has it."""

    state: frozenset
    reason: str

    def node(self, host):
        """As scontrol prints it, read."""
        return parse_node(
            f"NodeName={host} State={'+'.join(sorted(self.state, key=_flags_last))} Reason={self.reason}"
        )


def _flags_last(word):
    return (word not in BASES, word)


class World(Provider):
    """Slurm, the provider and the hosts in one; `mood` is how a host's provider behaves."""

    def __init__(self, of=OF, moods=None):
        self.of, self.now, self.on_since, self.since, self.calls = of, 0.0, {}, {}, []
        self.mood = dict.fromkeys(of.hosts, "well") | (moods or {})
        self.node = {host: Row(OFF, "none") for host in of.hosts}
        self.answers = True  # slurmctld

    def nodes(self):
        """What `scontrol show nodes` says."""
        if not self.answers:
            return None
        return {host: row.node(host) for host, row in self.node.items()}

    def update(self, hosts, *words):
        """`scontrol update`."""
        said = dict(word.split("=", 1) for word in words)
        for host in hosts:
            state, reason = set(self.node[host].state), said.get("Reason", self.node[host].reason)
            if said["State"] == "RESUME":
                state, reason = (state - {"DOWN", "DRAIN"}) | {"IDLE"}, "none"
            elif said["State"] == "POWER_UP":
                state = {"IDLE", "POWERING_UP"}
            elif said["State"] == "POWER_DOWN_FORCE":
                state = {"IDLE", "POWERING_DOWN"}
            elif said["State"] == "DOWN":
                state = (state - {"IDLE"}) | {"DOWN"}  # one that is on its way stays on it
            else:
                state |= {said["State"]}
            self.be(host, state, reason)
        return ""

    def be(self, host, state, reason="none"):
        """From now on."""
        self.node[host], self.since[host] = Row(frozenset(state), reason), self.now

    def on(self, hosts):
        """A call of the provider's; a mood of words is its answer."""
        self.calls += [("on", host) for host in hosts]
        for host in hosts:
            if self.mood[host] in ("well", "mute"):
                self.on_since.setdefault(host, self.now)
        return {host: self.mood[host] if ":" in self.mood[host] else "" for host in hosts}

    def off(self, hosts, hard):
        """Off at once, unless it lies or refuses."""
        self.calls += [("kill" if hard else "off", host) for host in hosts]
        for host in hosts:
            if self.mood[host] in ("well", "mute"):
                self.on_since.pop(host, None)
        return {host: self.mood[host] if ":" in self.mood[host] else "" for host in hosts}

    def state(self, hosts):
        """The truth."""
        return {host: "on" if host in self.on_since else "off" for host in hosts}

    def want(self, host):
        """A job asks for it, if jobs may."""
        if self.node[host].state == OFF:
            self.be(host, {"IDLE", "POWERING_UP"})

    def turn(self):
        """A second later."""
        self.now += 1
        for host, node in self.node.items():
            age = self.now - self.since.get(host, 0.0)
            if "POWERING_UP" in node.state:
                on = self.on_since.get(host, self.now)
                if self.mood[host] == "well" and on >= self.since[host] and self.now - on >= BOOT_S:
                    self.be(host, {"IDLE"})
                elif age > self.of.resume_timeout:
                    self.be(host, {"DOWN", "POWERED_DOWN"}, decide.TIMED_OUT)
            elif "POWERING_DOWN" in node.state and age > self.of.suspend_timeout:
                self.be(host, (node.state - {"POWERING_DOWN"}) | {"POWERED_DOWN"}, node.reason)
            elif node.state == {"IDLE"} and age > IDLE_S:
                self.be(host, {"IDLE", "POWERING_DOWN"})


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """The world's clock stands while a step is done."""
    monkeypatch.setattr(actions, "OFF_S", 0.0)


def keeper_of(world, path):
    """A keeper, as after a start of the service."""
    said = []
    keeper = Keeper(world.of, world, Records(str(path), list(world.of.hosts)), said.append, world)
    keeper.said = said
    return keeper


def look(keeper):
    """One look, with all that follows from it done."""
    keeper.poll(keeper.slurm.now)
    for future in set(keeper.busy.values()):
        future.result()
    keeper._reap()


def run(world, keeper, seconds):
    """So many seconds, with a look in each."""
    for _ in range(seconds):
        world.turn()
        look(keeper)


@pytest.fixture
def records(tmp_path):
    """Where records lie."""
    return tmp_path / "records.json"


def test_a_host_is_booted_and_switched_off_again(records):
    """One call for each, and a look now and then."""
    world = World()
    keeper = keeper_of(world, records)
    run(world, keeper, 3)
    world.want("n1")
    run(world, keeper, BOOT_S + 3)
    joined = world.node["n1"].state
    run(world, keeper, IDLE_S + OF.suspend_timeout + 5)

    assert joined == {"IDLE"}
    assert world.node["n1"].state == OFF
    assert [call for call in world.calls if call[1] == "n1" and call[0] == "on"] == [("on", "n1")]
    assert "n1" not in world.on_since
    assert "n1: slurmd has registered" in keeper.said


@pytest.mark.parametrize(
    ("mood", "words"),
    [
        ("liar", "the provider accepted the request, but the host is off"),
        ("mute", "it is on, but slurmd does not register"),
        ("503: busy", "503: busy"),
    ],
)
def test_what_does_not_come_up_is_tried_again_with_growing_pauses_and_then_drained(records, mood, words):
    """Off before each try; never `down` for good; the reason has the provider's words."""
    world = World(moods={"n2": mood})
    keeper, boots, down = keeper_of(world, records), [], 0
    for _ in range(600):
        before = world.node["n2"].state
        world.want("n2")
        boots += [world.now] if world.node["n2"].state != before else []
        run(world, keeper, 1)
        down += decide.failed(world.nodes()["n2"])
    state, reason = world.node["n2"]

    assert len(boots) == OF.max_attempts
    assert boots[2] - boots[1] > boots[1] - boots[0]
    assert "DRAIN" in state
    assert reason == f"wright: power: failed boots: 3: {words}"
    assert down < 60
    assert "n2" not in world.on_since
    assert world.node["n1"].state == OFF

    world.mood["n2"] = "well"
    world.update(["n2"], "State=RESUME")
    run(world, keeper, 2)
    world.want("n2")
    run(world, keeper, BOOT_S + 3)
    assert world.node["n2"].state == {"IDLE"}
    assert keeper.records.by_host["n2"].failed_boots == 0


def test_what_is_refused_for_good_is_drained_at_once_and_asked_no_more(records):
    """A wrong password: jobs go elsewhere within seconds, not after the longest boot."""
    world = World(moods={"n1": Refusal("refused: does not take the password")})
    keeper = keeper_of(world, records)
    run(world, keeper, 2)
    world.want("n1")
    run(world, keeper, 10)
    state, reason = world.node["n1"]
    ons = world.calls.count(("on", "n1"))
    run(world, keeper, 300)

    assert "DRAIN" in state
    assert "refused: does not take the password" in reason
    assert ons == world.calls.count(("on", "n1")) == 1


def test_one_that_has_power_already_begins_from_off(records):
    """Slurm would wait in vain for a host that has booted before it was asked for."""
    world = World()
    keeper = keeper_of(world, records)
    world.on_since["n1"] = -100.0
    world.want("n1")
    run(world, keeper, BOOT_S + 3)

    assert world.calls[:2] == [("kill", "n1"), ("on", "n1")]
    assert world.node["n1"].state == {"IDLE"}


def test_one_that_somebody_switched_on_is_switched_off_unless_it_is_drained(records):
    """Slurm has it off, and nobody has taken it out to work on it."""
    world = World()
    keeper = keeper_of(world, records)
    world.update(["n2"], "State=DRAIN", "Reason=ann: new fan")
    run(world, keeper, 5)
    world.on_since.update({"n1": world.now, "n2": world.now})
    run(world, keeper, 70)

    assert "n1" not in world.on_since
    assert "n2" in world.on_since


def test_nothing_is_switched_while_slurmctld_is_silent(records):
    """Its state is the wish; without it there is none."""
    world = World()
    keeper = keeper_of(world, records)
    world.answers = False
    run(world, keeper, 100)

    assert world.calls == []


def test_spares_are_woken_as_others_are_taken(tmp_path):
    """As many idle hosts as wanted, or on their way; none while slurmctld has not heard of all."""
    world = World(OF._replace(spares=1))
    keeper = keeper_of(world, tmp_path / "records.json")
    world.be("n3", {"UNKNOWN"})
    run(world, keeper, 2)
    early = list(world.calls)
    world.be("n3", {"ALLOCATED"})
    look(keeper)
    world.be("n1", {"IDLE", "POWERING_UP", "NOT_RESPONDING"})  # as Slurm has a host on its way
    run(world, keeper, BOOT_S + 3)

    assert ("on", "n1") not in early
    assert [world.node[host].state for host in world.node] == [{"IDLE"}, OFF, {"ALLOCATED"}]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["want", "mood", "restart", "silent", "wait"]),
        st.sampled_from(sorted(OF.hosts)),
        st.sampled_from(["well", "liar", "mute", "503: busy"]),
        st.integers(1, 90),
    ),
    max_size=25,
)


@tries(max_examples=60, deadline=None)
@given(EVENTS)
def test_whatever_happens_no_host_is_stuck(tmp_path_factory, events):
    """Once all are honest and a person has given back what is drained, each host boots for a job."""
    path = tmp_path_factory.mktemp("world") / "records.json"
    world = World()
    keeper = keeper_of(world, path)
    for what, host, mood, seconds in events:
        if what == "want":
            world.want(host)
        elif what == "mood":
            world.mood[host] = mood
        elif what == "restart":
            keeper.pool.shutdown()
            keeper = keeper_of(world, path)
        world.answers = what != "silent"
        run(world, keeper, seconds)
    world.answers = True
    world.mood = dict.fromkeys(OF.hosts, "well")
    run(world, keeper, 400)
    drained = [host for host, node in world.node.items() if "DRAIN" in node.state]
    assert all(world.node[host].reason.startswith("wright: power: failed boots: 3") for host in drained)
    assert all(node.state == OFF for host, node in world.node.items() if host not in drained)
    world.update(drained, "State=RESUME")
    run(world, keeper, 2)
    for host in OF.hosts:
        world.want(host)
    run(world, keeper, BOOT_S + 5)
    keeper.pool.shutdown()

    assert {node.state for node in world.node.values()} == {frozenset({"IDLE"})}


def test_rows_of_scontrol():
    """Two lines of 22.05.8, as they are."""
    rows = parse_nodes(
        "NodeName=gpu-node1 Arch=x86_64 CoresPerSocket=8 State=IDLE+POWERED_DOWN+NOT_RESPONDING ThreadsPerCore=1"
        " Comment=(null) \nNodeName=gpu-node2 State=DOWN*+POWERED_DOWN TmpDisk=0 Reason=wright: power: boot 1 of 3"
        " failed: it said: [no] [slurm@2026-11-22T19:23:31]\n"
    )

    found = {name: (node.state.text, parse_drain_reason(node.reason).text) for name, node in rows.items()}
    assert found == {
        "gpu-node1": ("IDLE+NOT_RESPONDING+POWERED_DOWN", ""),
        "gpu-node2": ("DOWN+NOT_RESPONDING+POWERED_DOWN", "wright: power: boot 1 of 3 failed: it said: [no]"),
    }


@pytest.mark.parametrize(
    "path", sorted(Path(power.__file__).parent.rglob("*.py")), ids=lambda path: path.name
)
def test_it_runs_under_the_oldest_python_of_a_control_host(path):
    """RHEL 8 has 3.6."""
    assert ast.parse(path.read_text(), feature_version=(3, 6)).body
