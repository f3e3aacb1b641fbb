"""Checkpoints of one rank, damaged in every way that disks and people have found."""

import resource
import shutil

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import group
from clusterwright.runtime.checkpoints import manifest, retention
from clusterwright.runtime.checkpoints.checkpoint import Checkpoints, load

pytestmark = pytest.mark.train

SHARED = {
    "model": {"weight": torch.arange(300_000.0).view(300, 1000), "half": torch.ones(7).bfloat16()},
    "optimizer": {
        "state": {0: {"step": torch.tensor(3.0), "empty": torch.empty(0, 4)}},
        "lr": 1e-3,
        "betas": (0.9, None),
    },
}
LOCAL = {"python": (3, tuple(range(625)), None), "torch": torch.get_rng_state()}


@pytest.fixture(scope="module")
def alone():
    """A group of one rank, in this process."""
    joined = group.join({})
    yield joined
    joined.destroy()


@pytest.fixture
def checkpoints(alone, tmp_path):
    """Three checkpoints: steps 1, 2 and 3."""
    made = Checkpoints(tmp_path, alone, save_total_limit=3)
    for step in (1, 2, 3):
        assert save(made, step, SHARED).reason is None
    made.wait()
    return made


def part(folder, step):
    return folder / f"step-{step:08d}" / "part-00000-of-00001.safetensors"


def save(checkpoints, step, shared):
    """How a save went, in the end."""
    checkpoints.save(step, shared, LOCAL)
    return checkpoints.wait()


def finished(folder):
    """The checkpoints there are; of unfinished ones nothing is left."""
    assert not [path for room in folder.glob(".partial-*") for path in room.iterdir()]
    return sorted(path.name for path in folder.glob("step-*"))


def flip(path, byte, bit=0):
    """One bit of a file, as a cosmic ray would."""
    with path.open("r+b") as file:
        file.seek(byte)
        old = file.read(1)[0]
        file.seek(byte)
        file.write(bytes([old ^ (1 << bit)]))


def assert_equal(left, right):
    """The same tree: kinds, keys, values, and each tensor bit for bit."""
    if isinstance(left, torch.Tensor):
        assert left.dtype == right.dtype
        assert torch.equal(left, right)
    elif isinstance(left, dict):
        assert list(left) == list(right)
        for key in left:
            assert_equal(left[key], right[key])
    else:
        assert left == right


def test_what_is_loaded_is_what_was_saved(checkpoints):
    """Every dtype, shape, key and plain value, of the shared state and of the rank's own."""
    loaded, skipped = checkpoints.newest()

    assert (loaded.step, skipped) == (3, [])
    assert_equal(loaded.shared, SHARED)
    assert_equal(loaded.local, LOCAL)


def test_a_flipped_bit_anywhere_is_seen(checkpoints, tmp_path):
    """In each piece of the file: length, header, a large tensor, the pickled rest."""
    path = part(tmp_path, 3)
    size = path.stat().st_size
    whole = path.read_bytes()

    for byte in [0, 3, 7, 8, 60, 700, 5000, 8192, 123_457, size // 2, size - 1_000, size - 9, size - 1]:
        for bit in (0, 7):
            flip(path, byte, bit)
            loaded, (skipped,) = checkpoints.newest()
            assert (loaded.step, skipped.step, skipped.damaged) == (2, 3, True), (byte, bit)
            path.write_bytes(whole)
    assert checkpoints.newest()[0].step == 3


def test_a_flipped_bit_in_the_manifest_is_seen(checkpoints, tmp_path):
    """Whether it still is JSON or not."""
    path = tmp_path / "step-00000003" / manifest.NAME
    whole = path.read_bytes()

    for byte in range(0, len(whole), 11):
        flip(path, byte)
        loaded, _ = checkpoints.newest()
        if path.read_bytes().split() != whole.split() and loaded.step != 2:
            pytest.fail(f"byte {byte}: {path.read_bytes()} was believed")
        path.write_bytes(whole)


@pytest.mark.parametrize("left", [0, 1, 7, 8, 100, 4096, -1])
def test_a_file_cut_short_is_passed_over(checkpoints, tmp_path, left):
    """However little is missing, or however little is there."""
    path = part(tmp_path, 3)
    path.write_bytes(path.read_bytes()[:left])

    loaded, (skipped,) = checkpoints.newest()
    assert loaded.step == 2
    assert "bytes" in skipped.reason


def test_a_longer_file_is_passed_over(checkpoints, tmp_path):
    """Bytes that nobody wrote are damage too."""
    with part(tmp_path, 3).open("ab") as file:
        file.write(b"\0")

    assert checkpoints.newest()[0].step == 2


def test_a_missing_shard_is_passed_over(checkpoints, tmp_path):
    """And named."""
    part(tmp_path, 3).unlink()

    loaded, (skipped,) = checkpoints.newest()
    assert loaded.step == 2
    assert "part-00000-of-00001.safetensors is missing" in skipped.reason


def test_a_folder_without_a_manifest_is_passed_over(checkpoints, tmp_path):
    """Its save was never finished."""
    (tmp_path / "step-00000003" / manifest.NAME).unlink()

    loaded, (skipped,) = checkpoints.newest()
    assert loaded.step == 2
    assert "never finished" in skipped.reason


@pytest.mark.parametrize("name", ["step-00000003", "step-00000009"])
def test_a_stale_manifest_is_passed_over(checkpoints, tmp_path, name):
    """One of another step, whole in itself, in a folder that it does not belong to."""
    if name == "step-00000009":
        shutil.copytree(tmp_path / "step-00000003", tmp_path / name)
    shutil.copy(tmp_path / "step-00000002" / manifest.NAME, tmp_path / name / manifest.NAME)

    loaded, (skipped,) = checkpoints.newest()
    assert loaded.step < int(name[5:])
    assert "belongs to another folder" in skipped.reason


def test_files_of_another_save_under_the_right_manifest_are_passed_over(checkpoints, alone, tmp_path):
    """Same names, same sizes, other numbers."""
    elsewhere = Checkpoints(tmp_path / "elsewhere", alone, save_total_limit=3)
    save(elsewhere, 3, {**SHARED, "model": {**SHARED["model"], "half": torch.zeros(7).bfloat16()}})
    assert part(tmp_path / "elsewhere", 3).stat().st_size == part(tmp_path, 3).stat().st_size
    shutil.copy(part(tmp_path / "elsewhere", 3), part(tmp_path, 3))

    loaded, (skipped,) = checkpoints.newest()
    assert loaded.step == 2
    assert "checksum" in skipped.reason


def test_all_damaged_is_none(checkpoints, tmp_path):
    """Then the training begins anew, and says so."""
    for step in (1, 2, 3):
        part(tmp_path, step).write_bytes(b"")

    loaded, skipped = checkpoints.newest()
    assert loaded is None
    assert [each.step for each in skipped] == [3, 2, 1]


def test_a_damaged_one_does_not_count_as_kept(alone, tmp_path):
    """With two of three damaged, the oldest, the only good one, survives the next save of two to keep."""
    made = Checkpoints(tmp_path, alone, save_total_limit=2)
    save(made, 1, SHARED)
    made.wait()
    for step in (2, 3):
        shutil.copytree(tmp_path / "step-00000001", tmp_path / f"step-{step:08d}")
    save(made, 4, SHARED)
    made.wait()

    assert retention.steps(tmp_path) == [4, 3, 2, 1]
    save(made, 5, SHARED)
    made.wait()
    assert retention.steps(tmp_path) == [5, 4]


def test_a_save_takes_the_place_of_a_damaged_one_of_the_same_step(checkpoints, tmp_path):
    """As a training does that fell back behind it."""
    flip(part(tmp_path, 3), 9_000)
    assert checkpoints.newest()[0].step == 2

    assert save(checkpoints, 3, SHARED).reason is None
    assert checkpoints.newest()[0].step == 3


def test_state_that_only_code_could_load_is_refused_when_saved(alone, tmp_path):
    """Not on the day of the fault."""
    made = Checkpoints(tmp_path, alone, save_total_limit=2)

    with pytest.raises(Exception, match="weights_only"):
        save(made, 1, {"odd": {"value": object()}})


def test_another_number_of_ranks_loads_what_is_shared_and_no_random_states(checkpoints, tmp_path):
    """They belong to ranks that are no more."""
    shared, local = load(tmp_path / "step-00000003", rank=0, world_size=2)

    assert local is None
    assert_equal(shared, SHARED)


def test_a_full_disk_leaves_the_old_ones_and_nothing_else(alone, small_disk):
    """A checkpoint is 1.2 MB: three fit, the fourth does not; with room again, saving goes on."""
    folder = small_disk(4)
    made = Checkpoints(folder, alone, save_total_limit=9)
    for step in (1, 2, 3):
        assert save(made, step, SHARED).reason is None

    assert "No space left on device" in save(made, 4, SHARED).reason
    assert finished(folder) == [f"step-0000000{step}" for step in (1, 2, 3)]
    assert made.newest()[0].step == 3
    retention.remove(folder / "step-00000001")
    assert save(made, 5, SHARED).reason is None
    assert made.newest()[0].step == 5


def test_a_file_that_may_not_grow_leaves_the_old_ones_and_nothing_else(checkpoints, tmp_path):
    """The same for whoever is not root: a quota that a file runs into."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
        saved = save(checkpoints, 4, SHARED)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert "File too large" in saved.reason
    assert finished(tmp_path) == [f"step-0000000{step}" for step in (1, 2, 3)]
