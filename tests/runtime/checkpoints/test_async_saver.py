"""Saves behind the training: whatever dies, fails or comes too late, what is under a step's name is whole."""

import random
import runpy
import shutil
import threading
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import group
from clusterwright.runtime.checkpoints import disk, manifest, retention
from clusterwright.runtime.checkpoints.checkpoint import Checkpoints, load

pytestmark = pytest.mark.train
HERE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def alone():
    """A group of one rank, in this process."""
    joined = group.join({})
    yield joined
    joined.destroy()


@pytest.fixture
def gate(monkeypatch):
    """Files are written only once it is set."""
    opened, write = threading.Event(), disk.write

    def patiently(path, plan, staged):
        assert opened.wait(60)
        return write(path, plan, staged)

    # no seam: a disk that is slow at will is nowhere to be had
    monkeypatch.setattr(disk, "write", patiently)
    yield opened
    opened.set()


def state(value):
    """A tensor and a number."""
    return {"model": {"w": torch.full((1000,), float(value))}, "run": {"value": value}}


def state_of(step):
    """That of saver.py."""
    return runpy.run_path(str(HERE / "saver.py"), run_name="saver")["state_of"](step)


def assert_good(folder, least):
    """Every finished checkpoint is whole, the newest at least this one, and each holds its own step's state."""
    steps = retention.steps(folder)
    assert (steps or [0])[0] >= least, f"{steps}, and step {least} had been on disk"
    for step in steps:
        retention.check(folder / manifest.step_name(step))
        shared, _ = load(folder / manifest.step_name(step))
        for name, tensor in state_of(step)["model"].items():
            assert torch.equal(shared["model"][name], tensor), f"{name} of step {step}"
        assert shared["run"] == state_of(step)["run"]


def test_training_goes_on_before_anything_is_on_disk(alone, tmp_path, gate):
    """And what it does to the state afterwards is not in the checkpoint."""
    made = Checkpoints(tmp_path, alone, save_total_limit=2)
    training = state(1)
    made.save(1, training, {})
    training["model"]["w"].zero_()
    assert retention.steps(tmp_path) == []

    gate.set()
    assert made.wait().reason is None
    assert torch.equal(load(tmp_path / "step-00000001")[0]["model"]["w"], torch.ones(1000))


def test_a_save_waits_for_the_one_before_it(alone, tmp_path, gate):
    """Both are whole in the end, in their order."""
    told = []
    made = Checkpoints(tmp_path, alone, save_total_limit=5, on_saved=told.append)
    made.save(1, state(1), {})
    threading.Timer(0.3, gate.set).start()

    assert made.save(2, state(2), {}) > 0.2
    assert made.wait().step == 2
    assert [(each.step, each.reason) for each in told] == [(1, None), (2, None)]
    assert [load(tmp_path / f"step-0000000{n}")[0]["run"]["value"] for n in (1, 2)] == [1, 2]


def test_a_generation_that_was_given_up_saves_nothing_more(alone, tmp_path, gate):
    """Its thread comes back to find its folder gone; the newer one's checkpoint of the same step stays as it is."""
    late = Checkpoints(tmp_path, alone, save_total_limit=2, generation=1)
    late.save(7, state(1), {})
    newer = Checkpoints(tmp_path, alone, save_total_limit=2, generation=2)
    assert newer.newest() == (None, [])
    newer.save(7, state(2), {})

    gate.set()
    assert "No such file" in late.wait().reason
    assert newer.wait().reason is None
    assert load(tmp_path / "step-00000007")[0]["run"]["value"] == 2
    assert (
        "was replaced"
        in Checkpoints(tmp_path, alone, save_total_limit=2, generation=1)._open_partial_folder()
    )


def test_a_good_checkpoint_of_the_same_step_is_never_replaced(alone, tmp_path):
    """Two of one generation, which only a person's error can bring about: the first one stays, and all is well."""
    one, other = (Checkpoints(tmp_path, alone, save_total_limit=2) for _ in range(2))
    one.save(3, state(1), {})
    assert one.wait().reason is None
    other.save(3, state(2), {})

    assert other.wait().reason is None
    assert load(tmp_path / "step-00000003")[0]["run"]["value"] == 1


def test_what_is_read_back_wrong_is_not_a_checkpoint(alone, tmp_path, monkeypatch):
    """A disk that does not keep what it was given."""
    write = disk.write

    def badly(path, plan, staged):
        made = write(path, plan, staged)
        with path.open("r+b") as file:
            file.seek(-5, 2)
            file.write(b"\x7f")
        return made

    monkeypatch.setattr(disk, "write", badly)  # no seam: such a disk is nowhere to be had
    made = Checkpoints(tmp_path, alone, save_total_limit=2)
    made.save(1, state(1), {})

    assert "other bytes" in made.wait().reason
    assert retention.steps(tmp_path) == []


def test_one_that_was_read_back_stays_until_another_was(alone, tmp_path, monkeypatch):
    """Three are kept; the first was read back, and the next that will be is the fourth."""
    read, there = [], []
    read_back = disk.read_back
    # no seam: which files are read back shows nowhere
    monkeypatch.setattr(
        disk, "read_back", lambda path, said: (read.append(path.parent.name), read_back(path, said))
    )
    made = Checkpoints(tmp_path, alone, save_total_limit=3)
    for step in range(1, 8):
        made.save(step, state(step), {})
        made.wait()
        there.append(retention.steps(tmp_path))

    assert read == ["step-00000001", "step-00000004", "step-00000007"]
    assert there[2:] == [[3, 2, 1], [4, 3, 2], [5, 4, 3], [6, 5, 4], [7, 6, 5]]


def test_one_that_was_loaded_is_not_removed_before_another_was_verified(alone, tmp_path):
    """It is the only one that is known to be good."""
    made = Checkpoints(tmp_path, alone, save_total_limit=2)
    for step in (1, 2):
        made.save(step, state(step), {})
    made.wait()
    later = Checkpoints(tmp_path, alone, save_total_limit=2)
    later._number = 1  # its first save would be read back
    assert later.newest()[0].step == 2
    later.save(3, state(3), {})
    later.wait()

    assert retention.steps(tmp_path) == [3, 2]


def test_latest_leads_to_the_newest_and_is_never_followed(alone, tmp_path):
    """Whatever it says."""
    made = Checkpoints(tmp_path, alone, save_total_limit=3)
    for step in (1, 2):
        made.save(step, state(step), {})
    made.wait()
    assert (tmp_path / "latest").resolve() == (tmp_path / "step-00000002").resolve()

    (tmp_path / "latest").unlink()
    (tmp_path / "latest").symlink_to("step-00000001")
    assert made.newest()[0].step == 2


def test_the_best_is_kept_beside_the_newest(alone, tmp_path):
    """The lowest value; of equals the newest; what is no number is none; for a damaged one the next best stays."""
    made = Checkpoints(tmp_path, alone, save_total_limit=2)
    for step, value in enumerate([5.0, 2.0, 2.0, None, float("nan"), 3.0, None], start=1):
        if value is not None:
            made.set_value(value)
        made.save(step, state(step), {})
    made.wait()

    assert retention.steps(tmp_path) == [7, 6, 3]
    (tmp_path / "step-00000003" / "part-00000-of-00001.safetensors").write_bytes(b"")
    later = Checkpoints(tmp_path, alone, save_total_limit=2)
    later.save(8, state(8), {})
    later.wait()
    assert retention.steps(tmp_path) == [8, 7, 6]


def test_a_folder_that_cannot_be_written_to_is_said_and_tried_again(alone, tmp_path):
    """Training goes on; once there is a folder, it is saved to."""
    (tmp_path / "runs").write_text("not a folder")
    told = []
    made = Checkpoints(tmp_path / "runs" / "checkpoints", alone, save_total_limit=2, on_saved=told.append)
    made.save(1, state(1), {})
    assert "Not a directory" in made.wait().reason
    assert "Not a directory" in told[0].reason

    (tmp_path / "runs").unlink()
    made.save(2, state(2), {})
    assert made.wait().reason is None


def test_a_file_that_may_not_grow_on_one_rank_fails_the_save_on_all(train):
    """Both ranks say which rank it was and why; the saves before and after are whole, and nothing is left of it."""
    run = train(script="saver", SAVER_LIMIT="1:3")
    assert run.codes == [0, 0], run.log

    for rank in (0, 1):
        assert (run.folder / f"failed-{rank}").read_text() == "3 rank 1: [Errno 27] File too large\n"
    assert run.checkpoints() == [
        "step-00000001",
        "step-00000002",
        "step-00000004",
    ]  # the third was to be read back
    assert_good(run.folder / "checkpoints", 4)


@pytest.mark.parametrize(
    ("seed", "ranks"), [*((seed, 1) for seed in range(11)), *((seed, 2) for seed in range(4))]
)
def test_a_rank_killed_anywhere_in_a_save_leaves_whole_checkpoints_alone(train, seed, ranks):
    """Any rank, at a seeded write, fsync, mkdir or rename; then the next training saves all of them."""
    chance = random.Random(seed)
    kill = f"{chance.randrange(ranks)}:{chance.randint(1, 32 // ranks)}"
    died = train(script="saver", ranks=ranks, SAVER_KILL=kill)
    assert -9 in died.codes, died.log
    durable = died.folder / "durable"

    assert_good(died.folder / "checkpoints", int(durable.read_text().split()[-1]) if durable.exists() else 0)
    again = train(script="saver")
    assert again.codes == [0, 0], again.log
    assert again.checkpoints() == ["step-00000003", "step-00000004"]
    assert_good(again.folder / "checkpoints", 4)


def test_parts_in_each_others_place_are_damage(train, alone, tmp_path):
    """Both whole, both of this very step, each under the other's name."""
    run = train(script="saver")
    folder = run.folder / "checkpoints" / "step-00000004"
    one, other = sorted(folder.glob("part-*"))
    one.rename(tmp_path / "aside")
    other.rename(one)
    shutil.move(tmp_path / "aside", other)

    loaded, (skipped,) = Checkpoints(run.folder / "checkpoints", alone, save_total_limit=2).newest()
    assert (loaded.step, skipped.step, skipped.damaged) == (3, 4, True)


def damage(path, chance):
    """One of the things that happen to files, at a random place; in words."""
    data = bytearray(path.read_bytes())
    at, other = (chance.randrange(0, len(data) // 512) * 512 for _ in range(2))
    kind = chance.choice(["flip", "cut", "zero", "swap", "repeat", "shift", "flips", "gone"])
    if kind == "gone":
        path.unlink()
        return kind
    if kind.startswith("flip"):
        for _ in range(1 if kind == "flip" else chance.randint(2, 5)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[chance.randrange(len(data)) :]
    elif kind == "zero":
        data[at : at + 4096] = bytes(len(data[at : at + 4096]))
    elif kind == "shift":
        data[at:] = data[at + 1 :] + data[:1]
    else:
        one, two = bytes(data[at : at + 512]), bytes(data[other : other + 512])
        data[other : other + len(one)] = one
        if kind == "swap":
            data[at : at + len(two)] = two
    path.write_bytes(data)
    return f"{kind} at {at}, {other}"


@pytest.mark.parametrize("seed", range(4))
def test_no_damage_is_ever_loaded(alone, tmp_path, seed):
    """Twenty-five accidents at random places: always back to the last good one, with its very bits."""
    chance = random.Random(seed)
    made = Checkpoints(tmp_path, alone, save_total_limit=2)
    for step in (1, 2):
        made.save(step, state_of(step), {})
        made.wait()
    path = tmp_path / "step-00000002" / "part-00000-of-00001.safetensors"
    whole = path.read_bytes()

    for _ in range(25):
        what = damage(path, chance)
        changed = not path.exists() or path.read_bytes() != whole
        loaded, _ = made.newest()
        assert loaded.step == (1 if changed else 2), what
        assert torch.equal(loaded.shared["model"]["a"], state_of(loaded.step)["model"]["a"]), what
        path.write_bytes(whole)
