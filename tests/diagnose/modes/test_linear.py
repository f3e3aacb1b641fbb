"""No expression of a mode takes for ever on a line that somebody wrote to that end."""

import re
import time

import pytest

from clusterwright.diagnose.mode import tables

SIZE = 400  # characters; lines are tried on no more than four times as many
MOST_S = 0.05  # of processor time for one; a quadratic expression takes some milliseconds
GROWTH = 6  # for twice the line: twice or four times as much is usual, eight times is cubic
SEEN = 0.004  # seconds from which on the growth is measured

LIKES = {
    (each["like"], each["has"])
    for table in tables().values()
    for each in (*table["signature"], *table.get("confirmed_by", ()), *table.get("ruled_out_by", ()))
    if "like" in each
}


def hostile(like, has, size):
    """Lines in which the expression's own words come again and again, and its end never."""
    words = sorted(
        re.findall(r"[A-Za-z][A-Za-z _:/-]{3,}", re.sub(r"\\.|\(\?P?[<:=!]+\w*>?", " ", like)), key=len
    )
    for part in {has, f"{has} ", "a", "0", " ", "a.", *words[-3:]}:
        yield has + (part * size)[:size]
        yield (part * size)[:size] + has


def seconds(pattern, line):
    """The least processor time of three, or the first one that is short enough."""
    least = MOST_S * 100
    for _ in range(3):
        begin = time.thread_time()
        pattern.search(line)
        least = min(least, time.thread_time() - begin)
        if least < SEEN:
            break
    return least


@pytest.mark.parametrize("part", range(8))
def test_expressions_are_quick_on_hostile_lines(part):
    """And grow with the square of a line at most."""
    slow = []
    for like, has in sorted(LIKES)[part::8]:
        pattern = re.compile(like)
        for short, long in zip(hostile(like, has, SIZE), hostile(like, has, 2 * SIZE), strict=True):
            took = seconds(pattern, short)
            if took > MOST_S or (took > SEEN and seconds(pattern, long) > GROWTH * took):
                slow.append((like, short[:40], took))
    assert slow == []
