"""The program of a burn-in on this machine, with real torch: what is wrong is noticed, what is right is fast."""

import json
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

from clusterwright.onhost.bench import burn_in as program

pytestmark = pytest.mark.train

GIVEN = {
    "seconds": 2,
    "slice_s": 0.25,
    "memory_bytes": 1 << 20,
    "disk_bytes": 1 << 20,
    "size": 64,
    "threads": 1,
    "gpu_size": 64,
}


def load(steps, seconds=0.2):
    """A load that was run for so long."""
    made = program.BurnInLoad("load", steps)
    made.run(time.monotonic(), {"seconds": seconds, "slice_s": seconds / 4})
    return made


def test_a_wrong_result_is_counted_and_the_load_goes_on():
    """Not ended: how often it happens tells something."""

    def steps():
        yield 1.0
        raise ValueError("differs")

    made = load(steps)
    assert len(made.wrong) > 1
    assert sum(made.amounts) >= len(made.wrong)
    assert made.broken == ""


def test_a_load_that_cannot_be_run_ends_in_its_own_words():
    """Here a folder that is not there."""
    made = load(lambda: program.files("/absent", 1 << 20))

    assert "No such file or directory" in made.broken


def test_a_product_that_differs_in_one_element_is_noticed():
    """Bits, not rounding."""
    sums = {}
    steps = program.products(torch.device("cpu"), 64, sums)
    assert next(steps) == 2.0 * 64**3
    steps.gi_frame.f_locals["a"][5, 5] += 1

    with pytest.raises(ValueError, match="64 of 4096 elements"):
        next(steps)
    assert [*sums] == ["cpu"]


def test_a_byte_of_memory_that_changes_is_noticed(monkeypatch):
    """Between writing and reading back."""
    monkeypatch.setattr(program, "GPU_PIECE", 1024)
    steps = program.patterns(torch.device("cpu"), 4096)
    next(steps)
    steps.gi_frame.f_locals["pieces"][2][7] ^= 1

    next(steps)
    with pytest.raises(ValueError, match="bytes of pattern 0x55 that differ when read back: 1"):
        next(steps)


def test_a_byte_of_a_disk_that_changes_is_noticed_and_the_file_goes(tmp_path):
    """By its checksum."""
    steps = program.files(str(tmp_path), 1 << 20)
    next(steps)
    (path,) = tmp_path.iterdir()
    with path.open("r+b") as file:
        file.write(b"changed")

    with pytest.raises(ValueError, match="differs when read back"):
        next(steps)
    assert list(tmp_path.iterdir()) == []


def test_everything_at_once_is_right_and_leaves_nothing(tmp_path):
    """Real torch on all cores, memory and a disk: the same bits each time."""
    given = GIVEN | {"folders": [str(tmp_path)], "pair": None}
    argv = [sys.executable, program.__file__]
    done = subprocess.run(
        argv, input=json.dumps(given), capture_output=True, text=True, timeout=200, check=False
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == found["broken"] == {}
    assert {*found["rates"]} >= {"cpu products", "memory", f"disk {tmp_path}"}
    assert all(sum(rates) > 0 for rates in found["rates"].values())
    assert "cpu" in found["sums"]
    assert list(tmp_path.iterdir()) == []


def test_two_ends_keep_their_link_busy_while_they_compute():
    """A real stream over loopback, beside the load."""
    both = {
        "tool": "tcp",
        "address": "127.0.0.1",
        "own": "127.0.0.1",
        "port": 21750,
        "seconds": 1,
        "streams": 1,
    }
    ends = []
    for role in ("server", "client"):
        given = GIVEN | {"folders": [], "pair": {"role": role, **both}}
        argv = [sys.executable, program.__file__]
        ends.append(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        ends[-1].stdin.write(json.dumps(given))
        ends[-1].stdin.close()
        ends[-1].stdin = None
    server, client = (json.loads(end.communicate(timeout=200)[0])["pair"] for end in ends)

    assert server == {}
    assert client["said"]["there"]["bytes"] > 0
