"""Whole trainings of two real ranks over Gloo, killed in many ways and resumed."""

import time
from itertools import pairwise

import pytest

from clusterwright.runtime.checkpoints import retention

pytestmark = pytest.mark.train


@pytest.fixture
def undisturbed(train):
    """The training that nothing happened to."""
    trained = train(name="undisturbed")
    assert trained.codes == [0, 0], trained.log
    return trained


def assert_equal(trained, undisturbed):
    """Bit for bit the same: every loss, every sample, every final weight."""
    assert trained.codes == [0, 0], trained.log
    assert trained.losses() == undisturbed.losses()
    assert trained.seen() == undisturbed.seen()
    assert trained.weights() == undisturbed.weights()


def test_a_killed_training_resumes_bit_for_bit(train, undisturbed):
    """Dropout, shuffling, scheduler, scaler, Python's and NumPy's random states all go on where they were."""
    died = train(TOY_KILL="1:7")
    assert -9 in died.codes

    resumed = train()
    assert_equal(resumed, undisturbed)
    assert [event["step"] for event in resumed.events("resumed")] == [4]


def test_a_training_of_four_ranks_resumes_bit_for_bit(train):
    """A ring of three ranks or more adds up in another order what lies in another place."""
    whole = train(name="undisturbed", ranks=4)
    died = train(ranks=4, TOY_KILL="1:7")
    assert -9 in died.codes

    resumed = train(ranks=4)
    assert resumed.codes == [0] * 4, resumed.log
    assert resumed.losses() == whole.losses()
    assert resumed.weights() == whole.weights()


def test_a_generation_that_was_given_up_writes_no_checkpoint(train, tmp_path):
    """A frozen host that comes back finds that others train in its place, and leaves at its next save."""
    (tmp_path / "run" / "logs" / "2").mkdir(parents=True)
    late = train(CLUSTERWRIGHT_GENERATION="1")

    assert late.codes == [1, 1]
    assert "generation 1 was replaced" in late.log
    assert not [name for name in late.checkpoints() if name.startswith("step")]
    assert train(CLUSTERWRIGHT_GENERATION="2").codes == [0, 0]


def test_a_training_killed_twice_in_an_epoch_resumes_bit_for_bit(train, undisturbed):
    """An epoch is 37 samples and a step 8: steps 6 and 9 lie in the second one."""
    train(TOY_KILL="0:6")
    train(TOY_KILL="1:9")

    resumed = train()
    assert_equal(resumed, undisturbed)
    assert [event["step"] for event in resumed.events("resumed")] == [4, 8]


# Rank 0 makes five things durable in a save: its part, the manifest, the folder, its name, the name's folder.
@pytest.mark.parametrize(
    ("victim", "step"),
    [("1:2", 4), ("0:6", 4), ("0:7", 4), ("0:8", 4), ("0:9", 4), ("0:10", 8)],
    ids=["part of rank 1", "part of rank 0", "manifest", "folder", "name", "after the name"],
)
def test_a_training_killed_in_its_second_save_resumes_bit_for_bit(train, undisturbed, victim, step):
    """The first checkpoint is taken until the second has its name, and nothing half done is left."""
    died = train(TOY_KILL_SAVE=victim)
    assert -9 in died.codes, died.log

    resumed = train()
    assert_equal(resumed, undisturbed)
    taken = [event["step"] for event in resumed.events("resumed")][:1]
    assert taken == [step] or (victim == "1:2" and not taken)  # rank 0 may not have named the first one yet
    assert not [name for name in resumed.checkpoints() if name.startswith(".")]


def test_fewer_ranks_neither_repeat_nor_skip_a_sample(train, undisturbed):
    """Two ranks, then one: each step takes the samples that it would have taken."""
    train(TOY_KILL="1:7")

    resumed = train(ranks=1)
    assert resumed.codes == [0], resumed.log
    assert resumed.seen() == undisturbed.seen()


@pytest.mark.parametrize(
    ("ask", "reason"),
    [({"TOY_SIGNAL": "1:5"}, "signal"), ({"TOY_STOP": "5"}, "stop file")],
    ids=["SIGTERM", "stop file"],
)
def test_a_training_that_is_asked_to_stop_saves_and_leaves_with_0(train, undisturbed, ask, reason):
    """Whichever rank was told, all leave after the same step; what follows is as if they had not left."""
    stopped = train(TOY_UNTIL=5000, **ask)
    assert stopped.codes == [0, 0], stopped.log
    (event,) = stopped.events("stopped")
    assert event["reason"] == reason
    assert not (stopped.folder / "finished.json").exists()
    (stopped.folder / "stop").unlink(missing_ok=True)

    if event["step"] < 12:
        resumed = train()
        assert_equal(resumed, undisturbed)
        assert resumed.events("resumed")[-1]["step"] == event["step"]


def test_a_training_saves_before_its_deadline(train):
    """It leaves when what is left is what a few steps and saves have taken, with exit code 0."""
    deadline = time.time() + 5

    stopped = train(
        TOY_UNTIL=100_000, CLUSTERWRIGHT_DEADLINE=deadline, CLUSTERWRIGHT_CHECKPOINT_EVERY="seconds:600"
    )
    assert stopped.codes == [0, 0], stopped.log
    assert stopped.events("stopped")[0]["reason"] == "deadline"
    assert stopped.events("step")[0]["time"] < deadline
    assert stopped.checkpoints() == [f"step-{stopped.events('stopped')[0]['step']:08d}"]


def test_a_save_is_due_after_seconds_as_rank_0_counts_them(train):
    """At least one second apart."""
    trained = train(
        TOY_UNTIL=100_000, CLUSTERWRIGHT_DEADLINE=time.time() + 15, CLUSTERWRIGHT_CHECKPOINT_EVERY="seconds:1"
    )
    assert trained.codes == [0, 0], trained.log

    times = [event["time"] for event in trained.events("checkpoint_staged")[:-1]]
    assert len(times) >= 2
    assert all(later - earlier >= 1 for earlier, later in pairwise(times))


def test_a_finished_training_has_said_so_and_does_no_step_more(train, undisturbed):
    """finished.json holds the last loss, exactly; starting it again finds nothing to do."""
    again = train(name="undisturbed")

    assert again.codes == [0, 0], again.log
    assert again.losses() == undisturbed.losses()
    assert '"step": 12' in (again.folder / "finished.json").read_text()
    assert undisturbed.losses()[12] in (again.folder / "finished.json").read_text()
    assert again.checkpoints() == ["step-00000004", "step-00000008", "step-00000012"]


def test_only_the_newest_are_kept_and_all_of_them_are_good(train):
    """`save_total_limit` is two; nothing half removed or half written is left."""
    trained = train(TOY_UNTIL=17, CLUSTERWRIGHT_SAVE_TOTAL_LIMIT=2)

    assert trained.checkpoints() == ["step-00000016", "step-00000017"]
    for name in trained.checkpoints():
        assert retention.check(trained.folder / "checkpoints" / name).world_size == 2


def test_a_training_on_a_full_disk_goes_on_and_says_so(train, undisturbed, small_disk):
    """Two checkpoints of 4.5 MB fit on 10 MiB, the third does not; with more room it is made up for."""
    disk = small_disk(10)
    full = train(CLUSTERWRIGHT_CHECKPOINTS=disk)
    assert full.losses() == undisturbed.losses()
    assert full.codes == [1, 1]
    assert "No space left on device" in full.events("checkpoint_failed")[0]["reason"]
    assert not full.events("finished")
    assert sorted(path.name for path in disk.iterdir()) == ["latest", "step-00000004", "step-00000008"]

    small_disk(40)
    resumed = train(CLUSTERWRIGHT_CHECKPOINTS=disk)
    assert_equal(resumed, undisturbed)
    assert [event["step"] for event in resumed.events("resumed")] == [8]


def test_events_tell_the_story_in_order(undisturbed):
    """The kinds and fields that supervisor, demo and reports rely on."""
    kinds = [event["event"] for event in undisturbed.events()]
    steps = undisturbed.events("step")

    assert kinds[:2] == ["process_start", "group_ready"]
    assert kinds[-1] == "finished"
    assert [event["step"] for event in steps] == list(range(1, 13))
    assert {"time", "host", "generation", "rank", "loss", "loss_hex", "seconds", "epoch"} <= steps[0].keys()
    assert [event["epoch"] for event in steps] == [position // 37 for position in range(0, 96, 8)]
    assert all(float.fromhex(event["loss_hex"]) == event["loss"] for event in steps)
    assert [event["event"] for event in undisturbed.events(rank=1)] == ["process_start", "group_ready"]
    assert undisturbed.events("process_start")[0]["started"] <= undisturbed.events("process_start")[0]["time"]
