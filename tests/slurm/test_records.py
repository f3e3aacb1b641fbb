"""Numbers and times in Slurm's records, to which users add fields by the name and the comment of a job."""

import pytest

from clusterwright.slurm.jobs import parse_queue
from clusterwright.slurm.records import Record, amount, count_gpus, number, seconds, stamp

CRAFTED = [
    "²",
    "\uff11",
    "9" * 5000,
    "1" * 20,
    "-1",
    "1.2.3",
    ".",
    "",
    "x",
    "9999-99-99T99:99:99",
    "9" * 5000 + ":00",
]


@pytest.mark.parametrize("text", CRAFTED)
def test_a_text_that_is_no_number_is_none(text):
    """Python's own `isdigit` takes some of them, and `int` refuses them."""
    assert number(text) is None
    assert seconds(text) is None
    assert stamp(text) is None
    assert amount(text) in (0.0, 1.0, 9999.0, float("1" * 19))
    assert Record.parse(f"JobId=7 Restarts={text}").number("Restarts") in (0, 1, 9999)
    assert count_gpus(f"gpu:{text}") + count_gpus("", f"gres/gpu={text}") < 2 * 10**9
    nodes = [job.nodes for job in parse_queue(f"7|RUNNING|{text}\n", ("id", "state", "nodes"))]
    assert nodes in ([], [0], [1], [9999])


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (number, "1795390000", 1795390000),
        (seconds, "1-00:30:00", 88200),
        (seconds, "30", 1800),
        (stamp, "1970-01-02T00:00:00", 86400),
        (stamp, "0000-01-01T00:00:00", None),
        (amount, "15.50G", 15872.0),
        (amount, "928M", 928.0),
        (count_gpus, "gpu:a100:4(S:0-1),gpu:h100:2", 6),
    ],
)
def test_a_number_of_slurm_is_read(parse, text, value):
    """With its unit."""
    assert parse(text) == value
