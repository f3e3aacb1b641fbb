"""Readers of outputs cost bounded time and memory, whatever a log contains."""

import io
import time

import pytest

from clusterwright.diagnose.outputs import observe
from clusterwright.diagnose.reading.read import blocks
from clusterwright.diagnose.reading.sample import END, HEAD_BYTES, MOST_PARTS, PART, LogSample

MOST_S = 6.0  # of processor time; ordinary logs need a tenth of it
HEADERS = (
    "JobID MaxRSS MaxVMSize ReqMem",
    "Device r/s r_await w/s w_await aqu-sz %util",
    "NODELIST NODES PARTITION STATE REASON",
    "--- x (Lid 5) ibping statistics ---",
    "CA 'mlx5_0'\n  Port 1:\n    State: Down\n    Physical state: Polling",
    "CUDA Version: 12.2 Cuda compilation tools, release 12.1 2.1.0+cu121",
)


def sample_of(data):
    """The sample of a log, read as any other one."""
    sample = LogSample()
    for block in blocks(io.BytesIO(data)):
        sample.add(block.data[: block.end], block.line)
    return sample


@pytest.mark.parametrize(
    "filler",
    [
        "1" * 590,
        "1," * 290,
        "12.5 " * 110,
        "state " * 95,
        "a_" * 290,
        "epoch 1 loss 2 tokens/s " * 24,
        "k=1 " * 140,
        "( " * 290,
    ],
    ids=["digits", "commas", "numbers", "state", "underscores", "rates", "keys", "brackets"],
)
@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_a_crafted_log_costs_bounded_time(header, filler):
    """Long lines of the readers' own words, a megabyte of them, after the header of an output."""
    sample = sample_of(f"{header}\nsamples/s {filler}\n{filler}\n{header}\n".encode() * 800)
    begin = time.thread_time()
    list(observe(sample))

    assert time.thread_time() - begin < MOST_S


def test_a_sample_is_bounded_and_knows_its_lines():
    """The beginning, a part of each block, and the end; each line with its number, once."""
    lines = [f"line {number} " + "x" * 80 for number in range(1, 400_000)]
    rows = list(sample_of("\n".join(lines).encode()).rows())

    assert sum(len(row.text) + 1 for row in rows) <= HEAD_BYTES + 2 * MOST_PARTS * PART + END
    assert [row.text for row in rows] == [lines[row.number - 1] for row in rows]
    assert (rows[0].number, rows[-1].number) == (1, len(lines))
    assert any(150_000 < row.number < 250_000 for row in rows)


def test_a_small_log_is_read_whole():
    """Also one without a line feed at its end, and each text of a progress bar."""
    rows = sample_of(b"one\ntwo\rthree\n\nfour").rows()

    assert [(row.number, row.text) for row in rows] == [(1, "one"), (2, "two"), (2, "three"), (4, "four")]
