"""No line makes the expressions of failure modes slow, and each finds what `re.search` finds."""

import random
import re
import time

import pytest

from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading.takers import CHARS_AFTER, CHARS_BEFORE, about, expression

LIMIT_S = 0.15  # of processor time for a line; none takes a third of it, and some once took 10 s
FILLS = ("a", "1", " ", "a.", "/a")


def expressions():
    """Text and expression of all signatures."""
    modes = knowledge()
    return sorted(
        {(entry.has, entry.like) for name in modes for entry in modes[name].signatures if entry.like}
    )


def crafted(has, like):
    """Lines of the length that is searched, with the expression's own words and runs of characters between them."""
    words = [word.replace("\\", "") for word in re.findall(r"(?:[\w /:-]|\\[.(\[]){3,}", like)] or [has]
    size = CHARS_BEFORE + CHARS_AFTER
    for word in dict.fromkeys(words):
        for begin in dict.fromkeys(("", words[0])):
            for fill in FILLS:
                yield about((begin + word + fill * size)[: size - len(has)] + has, has)
                yield about((begin + word + fill) * (size // len(begin + word + fill)) + has, has)


def seconds(search, line):
    """Processor time of a search; the least of three if it is long."""
    times = []
    while not times or (len(times) < 3 and min(times) > LIMIT_S / 3):
        begun = time.thread_time()
        search(line)
        times.append(time.thread_time() - begun)
    return min(times)


@pytest.mark.parametrize("share", [20, pytest.param(1, marks=pytest.mark.long)])
def test_no_crafted_line_is_slow(share):
    """For each expression; a share of them, and in `make test-long` all."""
    slow = [
        (like, line[:60], spent_s)
        for has, like in expressions()[::share]
        for line in crafted(has, like)
        if (spent_s := seconds(expression(like).search, line)) > LIMIT_S
    ]
    assert slow == []


@pytest.mark.parametrize(
    ("like", "line"),
    [
        (r"FATAL:.*mount (?:source )?\S+.*(?:no such file)", "FATAL:mount a." * 100),
        (r"(?P<host>[\w.-]+): Lost carrier", "a." * 700),
        (r"(?i)(?:nvidia|cuda).*driver version.*(?:mismatch)", "nvidiadriver version " * 70),
        (r"TypeError: \w*(?:Model|DeepSpeed\w*)\w*\.?\w* got", "TypeError: aaa " * 100),
    ],
)
def test_parts_are_searched_once(like, line):
    """Where `re.search` tries each part after each other part."""
    assert seconds(expression(like).search, line) < 0.002


LIKES = (
    r"a.*b", r"a.*?b.*c", r"(?i)A.+(?P<x>b)|c", r"(?P<x>[ab]+): c", r"(?P<x>\w*)b", r"^a.*(?P<x>b+)$", r"[^a.*]b|a.*c",
    r"(?:a.*)?b", r"^(?!.*c)a.*b", r"\(.*\)", r"[]b]+.*[^]a]", r"(?P<x>\S+?)b.*:", r"\w+|b.*a", r"a.{0,2}b.*c",
)  # fmt: skip


@pytest.mark.parametrize("like", LIKES)
def test_it_matches_as_re_search_does(like):
    """Where, and with which named values; short random lines."""
    generator, pattern = random.Random(22), re.compile(like)
    for _ in range(3000):
        line = "".join(generator.choices("aabbc:.]() ", k=generator.randint(0, 9)))
        ours, plain = expression(like).search(line), pattern.search(line)
        assert (ours and (ours.span(), ours.groupdict())) == (plain and (plain.span(), plain.groupdict())), (
            line
        )
