"""What is written for TensorBoard is read by its own reader."""

import struct
import warnings

import pytest

from clusterwright.onhost.trackers import tfevents
from clusterwright.onhost.trackers.tensorboard import newest


def read(folder):
    """Steps and values of each tag, by TensorBoard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies
        accumulator = pytest.importorskip(
            "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is not installed"
        )
        found = accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0})
        found.Reload()
        return {tag: [(one.step, one.value) for one in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def test_tensorboard_reads_every_step_once_though_the_run_went_on(told):
    """Two files, as two processes wrote; steps 5 and 6 were done twice."""
    told.steps(1, 6)
    told.end()
    assert told.track("tensorboard") == (0, "")
    told.go_on()
    told.steps(5, 9, generation=2)
    told.write({"event": "measure", "name": "validation", "value": 2.25, "step": 9})
    told.end()
    assert told.track("tensorboard") == (0, "")
    found = read(told.folder / "tensorboard")

    assert found["train/loss"] == [(step, 4.0 - step / 4) for step in range(1, 10)]
    assert found["validation"] == [(9, 2.25)]
    assert found["speed/tokens_per_second"][0] == (1, 128.0)


def test_a_tracker_that_forgot_does_not_say_it_again(told):
    """It died between writing and remembering: what lies in its own files is known."""
    told.steps(1, 4)
    told.end()
    told.track("tensorboard")
    (told.folder / "trackers" / "tensorboard.json").unlink()
    told.track("tensorboard")

    assert [step for step, _ in read(told.folder / "tensorboard")["train/loss"]] == [1, 2, 3, 4]


def test_a_record_that_was_cut_short_ends_the_file(tmp_path):
    """A disk was full."""
    whole = tfevents.begin(1.0) + tfevents.scalars(2.0, 300, {"a": 1.0, "b": 2.0})
    (tmp_path / "events.out.tfevents.1").write_bytes(whole + tfevents.scalars(3.0, 301, {"a": 1.0})[:-3])

    assert newest(str(tmp_path)) == {"a": 300, "b": 300}


def test_checksums_are_those_of_the_field():
    """RFC 3720 (B.4): 32 bytes of zeros have CRC-32C 8A9136AA, which is then masked."""
    masked = (((0x8A9136AA >> 15) | (0x8A9136AA << 17)) + 0xA282EAD8) & 0xFFFFFFFF

    assert tfevents._crc(bytes(32)) == struct.pack("<I", masked)
