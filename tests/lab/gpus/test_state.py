"""The state file: what was done to GPUs, on top of what they were made as."""

import subprocess

import pytest

from clusterwright.lab.gpus import state


@pytest.fixture
def folder(gpus, tmp_path):
    """The state of sound GPUs; the library is not asked."""
    library = tmp_path / "library"
    library.write_bytes(b"")
    place = tmp_path / "gpus"
    place.mkdir()
    state.install(gpus, library, place, tmp_path / "root")
    return place


def last(folder, key):
    """The value that counts."""
    rows = [line.split(" ", 1) for line in (folder / state.STATE).read_text().splitlines()]
    return dict(rows).get(key)


def boot(folder):
    """What a host does, on this folder."""
    script = state.AT_BOOT.replace(state.INSIDE, str(folder)).replace("/proc/driver", "/nosuch")
    subprocess.run(["sh", "-u", "-c", script], check=True)


def test_what_is_put_counts_until_it_is_taken(folder):
    """The last value of a key is the one."""
    sound = last(folder, "1.temperature")
    state.set_values(folder, "hot", {"temperature": 93}, 1, lasting=True)
    assert last(folder, "1.temperature") == "93"

    state.clear_values(folder, "hot")
    assert last(folder, "1.temperature") == sound


def test_a_boot_takes_what_lasts_no_longer_and_leaves_the_rest(folder):
    """As a reboot resets volatile counters, and keeps aggregate ones."""
    state.set_values(folder, "ecc", {"ecc.uncorrected.volatile.dram": 1}, 0, lasting=False)
    state.set_values(folder, "ecc", {"ecc.uncorrected.aggregate.dram": 1}, 0, lasting=True)
    boot(folder)

    assert last(folder, "0.ecc.uncorrected.volatile.dram") is None
    assert last(folder, "0.ecc.uncorrected.aggregate.dram") == "1"
    boot(folder)
    assert last(folder, "0.ecc.uncorrected.aggregate.dram") == "1"


def test_a_boot_of_sound_gpus_changes_nothing(folder):
    """Nor does one on a host that has none."""
    before = (folder / state.STATE).read_text()
    boot(folder)

    assert (folder / state.STATE).read_text() == before
    boot(folder / "nosuch")


def test_the_kernel_names_every_gpu(folder, gpus):
    """What hooks read to know which device file is which GPU."""
    texts = [path.read_text() for path in sorted((folder / "proc/nvidia/gpus").glob("*/information"))]

    assert [f"GPU UUID: \t {gpus.uuid(index)}" in text for index, text in enumerate(texts)] == [True, True]
    assert "Device Minor: \t 1" in texts[1]
