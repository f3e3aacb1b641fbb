"""Trainings of real ranks over Gloo, killed and resumed from the memory of real agents, without a checkpoint."""

import json
import socket

import pytest

from clusterwright.onhost.supervisor.replicas.recall import choose
from clusterwright.onhost.supervisor.replicas.replicas import Replicas as Agent

pytestmark = pytest.mark.train
TOKEN = "a" * 64
NEVER = "steps:1000"
LATER = 10**6  # a step that no training here reaches
NOBODY = (1 << 64) - 1  # what a rank's page shows when its copies reach no other host


class Hosts:
    """The agents of some hosts, as far as copies go; each has the same number of ranks."""

    def __init__(self, folder, names, ranks):
        self.folder, self.ranks, self.said = folder, ranks, []
        self.regroup_at = LATER  # the first step whose arrival makes an agent ask its ranks to regroup
        self.agents = {name: self._agent(name) for name in names}
        self.generation = 0

    def _agent(self, name):
        page = self.folder / f"page-{name}"
        page.write_bytes(bytes(4096 * self.ranks))

        def mark(local_rank, step):
            with page.open("r+b") as file:
                file.seek(local_rank * 4096 + 6 * 8)
                file.write(step.to_bytes(8, "little"))
                file.write((self.regroup_at <= step < NOBODY).to_bytes(8, "little"))

        listener = socket.create_server(("127.0.0.1", 0))
        return Agent(listener, TOKEN, self.ranks, mark, self.said.append)

    def start(self, *names, newest_on_disk=-1):
        """A generation on these hosts: the choice of what it begins with, and the variables of each rank."""
        self.generation += 1
        chosen = choose({name: agent.report() for name, agent in self.agents.items()}, newest_on_disk)
        places = {name: ("127.0.0.1", agent.port) for name, agent in self.agents.items()}
        for place, name in enumerate(names):
            after = names[(place + 1) % len(names)]
            page = bytes(7 * 8) + (self.regroup_at == 0).to_bytes(8, "little") + bytes(4096 - 8 * 8)
            (self.folder / f"page-{name}").write_bytes(page * self.ranks)
            self.agents[name].begin(self.generation, places[after] if len(names) > 1 else None)
        environ = []
        for name in names:
            told = {}
            if chosen:
                told["CLUSTERWRIGHT_MEMORY"] = json.dumps(self.agents[name].memory(chosen.message(places)))
            for local_rank in range(self.ranks):
                progress = f"{self.folder / f'page-{name}'}:{local_rank * 4096}"
                more = {"LOCAL_RANK": str(local_rank), "CLUSTERWRIGHT_PROGRESS": progress, **told}
                environ.append({**self.agents[name].variables(local_rank), **more})
        return chosen, environ

    def lose(self, name):
        """A host dies, with all that it holds."""
        agent = self.agents.pop(name)
        agent.begin(99, None)
        agent.close()


@pytest.fixture
def hosts(tmp_path):
    """`hosts("a", "b", ranks=1)`; no agent serves afterwards."""
    made = []

    def make(*names, ranks=1):
        made.append(Hosts(tmp_path, names, ranks))
        return made[-1]

    yield make
    for each in made:
        for name in list(each.agents):
            each.lose(name)


@pytest.fixture
def train_on(train):
    """`train_on(hosts, "a", "b")` runs the toy as a generation on these hosts, with a copy after each step."""

    def run(hosts, *names, every="steps:1", **environment):
        chosen, environ = hosts.start(*names)
        more = {"CLUSTERWRIGHT_CHECKPOINT_EVERY": NEVER, **environment}
        trained = train(
            ranks=len(environ), own=environ, CLUSTERWRIGHT_COPY_EVERY=every,
            CLUSTERWRIGHT_GENERATION=hosts.generation, **more,
        )  # fmt: skip
        return chosen, trained

    return run


@pytest.fixture
def undisturbed(train, calm):
    """The training that nothing happened to; one for all tests."""
    if not calm:
        calm.append(train(name="undisturbed", CLUSTERWRIGHT_CHECKPOINT_EVERY=NEVER))
        assert calm[0].codes == [0, 0], calm[0].log
    return calm[0]


@pytest.fixture(scope="module")
def calm():
    """Filled by the first who asks."""
    return []


def assert_equal(trained, undisturbed):
    """Bit for bit the same: every loss, every sample, every final weight."""
    assert trained.codes == [0, 0], trained.log
    assert trained.losses() == undisturbed.losses()
    assert trained.seen() == undisturbed.seen()
    assert trained.weights() == undisturbed.weights()


@pytest.mark.parametrize("victim", ["0:7", "1:7", "0:1", "1:2", "0:11"])
def test_a_killed_rank_costs_at_most_the_step_it_was_in(hosts, train_on, undisturbed, victim):
    """Its part is still on its host; nothing is read from disk, where nothing is."""
    two = hosts("a", "b")
    step = int(victim[2:])
    _, died = train_on(two, "a", "b", TOY_KILL=victim)
    assert -9 in died.codes
    chosen, resumed = train_on(two, "a", "b")

    assert_equal(resumed, undisturbed)
    # the toy is killed before the copy of its last step is made
    assert (chosen.step if chosen else 0) >= step - 1
    assert not chosen or resumed.events("restored")[-1]["source"] == "memory"


def test_a_lost_host_is_replaced_with_what_its_neighbor_holds(hosts, train_on, undisturbed):
    """Host `b` is gone with all its memory; `c` takes its place."""
    three = hosts("a", "b", "c")
    train_on(three, "a", "b", TOY_KILL="1:7")
    three.lose("b")
    chosen, resumed = train_on(three, "a", "c")

    assert_equal(resumed, undisturbed)
    assert chosen.step >= 5


def test_two_failures_in_a_row_are_survived(hosts, train_on, undisturbed):
    """Killed at step 5, and again at the first step after it."""
    two = hosts("a", "b")
    train_on(two, "a", "b", TOY_KILL="1:5")
    first, _ = train_on(two, "a", "b", TOY_KILL="0:5")
    second, resumed = train_on(two, "a", "b")

    assert_equal(resumed, undisturbed)
    assert second.step >= first.step >= 4


def test_ranks_of_one_host_that_is_alone_need_no_neighbor(hosts, train_on, undisturbed):
    """Two ranks on one host."""
    one = hosts("a", ranks=2)
    train_on(one, "a", TOY_KILL="1:7")
    chosen, resumed = train_on(one, "a")

    assert_equal(resumed, undisturbed)
    assert chosen.step >= 6


def test_fewer_and_more_hosts_go_on_from_memory(hosts, train_on):
    """Two hosts, then one, then two again; each sample is trained on once, in its turn."""
    three = hosts("a", "b", "c")
    train_on(three, "a", "b", TOY_KILL="1:5")
    three.lose("b")
    # without a pace the nine steps may be over before the copy of the first has come
    shrunk, _ = train_on(three, "a", TOY_KILL="0:9", TOY_PACE=0.1)
    grown, resumed = train_on(three, "a", "c")

    assert (shrunk.world_size, grown.world_size) == (2, 1)
    assert (shrunk.step >= 3, grown.step >= 8) == (True, True)
    assert resumed.codes == [0, 0], resumed.log
    seen = resumed.seen()
    assert [len(seen[step]) for step in range(10, 13)] == [8, 8, 8]


@pytest.mark.parametrize("every", ["steps:1", "steps:4"])
def test_ranks_that_are_to_regroup_leave_without_losing_a_step(hosts, train_on, undisturbed, every):
    """Both leave after the same step, with it in memory and nothing on disk; the next generation goes on from there."""
    two = hosts("a", "b")
    two.regroup_at = 3
    # short steps are voted on rarely: the last vote of twelve could be over before the first copy has come
    _, left = train_on(two, "a", "b", every=every, TOY_PACE=0.1)
    assert left.codes == [0, 0], left.log
    (stopped,) = left.events("stopped")
    assert (stopped["reason"], left.events("checkpoint")) == ("regroup", [])
    two.regroup_at = LATER
    chosen, resumed = train_on(two, "a", "b")

    assert chosen.step == stopped["step"] < 12
    assert_equal(resumed, undisturbed)


def test_ranks_that_are_to_regroup_before_there_is_memory_save_to_disk(hosts, train_on, undisturbed):
    """Asked before the first step, when the agents have not yet been asked for room."""
    two = hosts("a", "b")
    two.regroup_at = 0
    _, left = train_on(two, "a", "b")
    saved = [event["step"] for event in left.events("checkpoint")]
    two.regroup_at = LATER
    chosen, resumed = train_on(two, "a", "b")

    assert left.codes == [0, 0], left.log
    assert saved == [event["step"] for event in left.events("stopped")] == [1]
    assert chosen is None
    assert_equal(resumed, undisturbed)


def test_shards_come_back_from_memory(hosts, train_on, train):
    """Weights and moments that fully_shard has spread over two ranks, of which each copies its own."""
    calm = train(name="undisturbed", script="sharded", CLUSTERWRIGHT_CHECKPOINT_EVERY=NEVER)
    three = hosts("a", "b", "c")
    train_on(three, "a", "b", script="sharded", TOY_KILL="1:6")
    three.lose("b")
    chosen, resumed = train_on(three, "a", "c", script="sharded")

    assert resumed.codes == calm.codes == [0, 0], resumed.log
    assert chosen.step >= 4
    assert resumed.losses() == calm.losses()


def test_when_both_holders_are_lost_the_disk_has_it(hosts, train_on, undisturbed):
    """Nothing whole is in memory any more; step 4 is on disk."""
    four = hosts("a", "b", "c", "d")
    train_on(four, "a", "b", TOY_KILL="1:7", CLUSTERWRIGHT_CHECKPOINT_EVERY="steps:4")
    four.lose("a")
    four.lose("b")
    chosen, resumed = train_on(four, "c", "d")

    assert chosen is None
    assert_equal(resumed, undisturbed)
    assert resumed.events("restored")[-1]["source"] == "disk"


def test_copies_that_were_damaged_are_passed_over_for_the_disk(hosts, train_on, undisturbed):
    """One flipped bit in the memory of a host."""
    two = hosts("a", "b")
    train_on(two, "a", "b", TOY_KILL="1:7", CLUSTERWRIGHT_CHECKPOINT_EVERY="steps:4")
    for name in "ab":
        slots = two.agents[name]._holdings.local_slots[0]
        for slot, _, part in slots.parts():
            place = slots.bytes(slot, part.length)
            place[part.length - 5] ^= 1
    _, resumed = train_on(two, "a", "b")

    assert_equal(resumed, undisturbed)
    assert "skipping in-memory checkpoints" in resumed.log
    assert resumed.events("restored")[-1]["source"] == "disk"


def test_a_host_that_cannot_be_reached_is_passed_over_for_the_beginning(hosts, train_on, undisturbed):
    """It is chosen, and gone before its parts are read; there is no checkpoint either."""
    three = hosts("a", "b", "c")
    train_on(three, "a", "b", TOY_KILL="1:7")
    for name in "ab":
        three.agents[name]._serving.close()
    chosen, resumed = train_on(three, "c", "a")

    assert chosen is not None
    assert_equal(resumed, undisturbed)
    assert "skipping in-memory checkpoints" in resumed.log
    assert not resumed.events("restored")


def test_without_room_the_training_goes_on_without_copies(hosts, train_on, undisturbed, monkeypatch):
    """It is said once, and written down."""
    # no machine can be filled for a test; what is read from the kernel is what changes
    monkeypatch.setattr("clusterwright.onhost.supervisor.host.available.available_bytes", lambda: 3)
    two = hosts("a", "b")
    _, trained = train_on(two, "a", "b")

    assert_equal(trained, undisturbed)
    assert len(trained.events("copies_refused")) == 1
    assert trained.log.count("in-memory checkpoints are off") == 1


def test_a_rank_that_cannot_reach_the_memory_stops_the_copies_of_all(hosts, train, undisturbed):
    """One of two, as in a container that hides the agent: they agree, and train."""
    two = hosts("a", "b")
    _, environ = two.start("a", "b")
    environ[1]["CLUSTERWRIGHT_COPY"] = "/proc/1/fd/99999"
    trained = train(own=environ, CLUSTERWRIGHT_CHECKPOINT_EVERY=NEVER, CLUSTERWRIGHT_COPY_EVERY="steps:1")

    assert_equal(trained, undisturbed)
    assert len(trained.events("copies_refused")) == 1
    assert not trained.events("copy")


def test_auto_makes_a_first_copy_soon_and_says_what_it_cost(hosts, train_on, undisturbed):
    """The toy is over within a second, long before a second copy would be cheap enough."""
    two = hosts("a", "b")
    _, trained = train_on(two, "a", "b", every="auto")

    assert_equal(trained, undisturbed)
    (event,) = trained.events("copy")
    assert event["copies"] == 1
    assert event["bytes"] > 1000
    assert event["seconds"] > 0


def test_never_is_never(hosts, train_on, undisturbed):
    """No copy is made, and none is held."""
    two = hosts("a", "b")
    _, trained = train_on(two, "a", "b", every="never")

    assert_equal(trained, undisturbed)
    assert not trained.events("copy")
    assert two.agents["a"].report()["parts"] == []
