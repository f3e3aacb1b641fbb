"""Lines of many ranks in one order."""

import time

import pytest

from clusterwright.onhost.runs.merged_logs import Chunk, MergedLine, fold, merge, prefix, split


def told(lines):
    """What is shown, as text."""
    return [f"{prefix(said.sources)} {said.text.decode()}" for said in fold(lines)]


def test_what_all_say_is_told_once():
    """And what one says alone stands where it belongs."""
    lines = {
        "a:0": [b"begin", b"only 0", b"end"],
        "a:1": [b"begin", b"end"],
        "b:0": [b"begin", b"end", b"more"],
    }

    assert told(lines) == ["a:0-1 b:0 begin", "a:0 only 0", "a:0-1 b:0 end", "b:0 more"]


def test_lines_that_come_crosswise_are_all_told():
    """Each rank keeps its own order, whatever the others do."""
    found = list(fold({"a:0": [b"x", b"y"], "a:1": [b"y", b"x"]}))

    assert sorted(found) == sorted(
        [MergedLine(("a:0",), b"x"), MergedLine(("a:0", "a:1"), b"y"), MergedLine(("a:1",), b"x")]
    )


def test_a_line_that_one_repeats_is_told_as_often():
    """Two empty lines are two."""
    assert told({"a:0": [b"", b"", b"z"]}) == ["a:0 ", "a:0 ", "a:0 z"]


def test_generations_come_one_after_the_other_between_the_supervisors_words():
    """Though the supervisor's file is one, and was written last."""
    job = [
        b"job 7",
        b"generation 1 on a,b, store",
        b"ending generation 1",
        b"generation 2 on a, store",
        b"finished",
    ]
    chunks = [Chunk("a:0", 1, [b"one"]), Chunk("a:0", 2, [b"two"]), *split("job", job, 0)]

    assert [said.text for said in merge(chunks)] == [
        b"job 7", b"generation 1 on a,b, store", b"one", b"ending generation 1",
        b"generation 2 on a, store", b"two", b"finished",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("who", "shown"),
    [
        (["a:3"], "a:3"),
        (["a:0", "a:1", "a:2", "a:4"], "a:0-2,4"),
        (["a:0", "b:0"], "a,b:0"),
        ([f"h{host}:{rank}" for host in range(16) for rank in range(8)], "16 hosts:0-7"),
        (["a:0", "a:1", "b:0"], "a:0-1 b:0"),
        (["job"], "job"),
    ],
)
def test_who_said_it_is_short(who, shown):
    """However many they are."""
    assert prefix(who) == shown


def test_lines_in_opposite_order_do_not_stop_the_reader():
    """Each waits for the other: 150,000 lines of both take seconds."""
    rows = [b"%d" % number for number in range(150_000)]
    begun = time.process_time()

    assert sum(len(line.sources) for line in fold({"h:0": rows, "h:1": rows[::-1]})) == 300_000
    assert time.process_time() - begun < 30


@pytest.mark.parametrize("alike", [True, False])
def test_a_million_lines_do_not_stop_the_reader(alike):
    """The time for each line does not grow with the ranks: 200,000 lines of 8 ranks and of 64 take about as long."""

    def seconds(ranks):
        each = 200_000 // ranks
        lines = {
            f"h{rank}:0": [b"%d %d" % (number, 0 if alike else rank) for number in range(each)]
            for rank in range(ranks)
        }
        begun = time.process_time()
        count = sum(len(said.sources) for said in fold(lines))
        assert count == each * ranks
        return time.process_time() - begun

    assert seconds(64) < 5 * seconds(8) + 0.5
