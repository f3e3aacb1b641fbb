"""The readers of outputs, the last error line and the judgment of what was found stay within the budget of a source."""

import time
from dataclasses import replace
from pkgutil import iter_modules

import pytest

from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.judge.sighting import Observations, Position, Sighting
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.outputs import observe, tools
from clusterwright.diagnose.outputs.table import Columns
from clusterwright.diagnose.outputs.value import Row
from clusterwright.diagnose.reading import of_bytes, read
from clusterwright.diagnose.reading.read import SOURCE_S, OverBudgetError, TimeBudget, last_lines

SIZE = 900_000  # bytes: about what a sample holds of a source
BUDGET_S, OVER_S = 1.0, 2.0  # of processor time; what may follow after the last check
# The lines that each reader counts: a beginning, and lines without end.
OUTPUTS = {
    "cuda_versions": ("", "Cuda compilation tools, release 12.1 CUDA Version: 12.2 2.1.0+cu121\n"),
    "ib_ports": ("port_down\nCA 'a'\n", "Port 1\nState: active\n"),
    "ibping": (
        "",
        "--- x (Lid 5) ibping statistics ---\n1 packets transmitted, 1 received, 0% packet loss\n",
    ),
    "iostat": ("", "Device %util\n" + "".join(f"d{number} 1\n" for number in range(50))),
    "ipmi": (
        "",
        "".join(
            f"{number:x} | 01/02/2026 | 10:00:00 | Temperature S{number % 5000} | Upper Critical {number} going high"
            " | Asserted\n"
            for number in range(10_000)
        ),
    ),
    "nvidia_smi": ("| NVIDIA-SMI 1 \n", "| 0 a" + " " * 500 + "\n| 0 a  On | 00000000:07:00.0 Off |  0 |\n"),
    "rates": ("", "epoch 1 step 2 loss 2 tokens/s 23 batch_size=7 epoch 1 batch_size=8 took: 12s\n"),
    "sinfo": (
        "",
        "NODELIST NODES STATE REASON\n" + "".join(f"a{number} 1 idle none\n" for number in range(50)),
    ),
    "sstat": ("maxrss\n", "maxrss jobid " + "a " * 290 + "\n" + ("b " * 280 + "\n") * 9),
}


def seconds(work, *arguments):
    """The least of two runs, in processor time."""
    times = []
    for _ in range(2):
        begun = time.thread_time()
        work(*arguments)
        times.append(time.thread_time() - begun)
    return min(times)


def is_linear(work, small, large):
    """Whether work on eight times as much takes about eight times as long; 64 if it is quadratic."""
    return seconds(work, large) < 24 * max(0.002, seconds(work, small))


@pytest.mark.parametrize("name", sorted(info.name for info in iter_modules(tools.__path__)))
def test_the_output_of_every_tool_ends_within_the_budget(name):
    """A reader without an entry here fails: it has not been tried."""
    head, repeated = OUTPUTS[name]
    text = (head + repeated * (SIZE // len(repeated))).encode()

    taken_s = seconds(
        lambda: read([of_bytes("logs/1/h/0.out", text)], knowledge(), TimeBudget(most_s=BUDGET_S))
    )

    assert taken_s < BUDGET_S + OVER_S


def test_each_line_of_an_output_is_charged():
    """A reader that takes its lines by index or slice ends too, and the source is named."""
    calls = iter(range(1_000_000))

    class Text:
        """Text with tables, without end."""

        def contains(self, _keyword):
            """Every tool reads it."""
            return True

        def rows(self):
            """One table."""
            yield Row(1, "maxrss jobid")
            yield from (Row(number, f"{number}K 1") for number in range(2, 1000))

    def check():
        if next(calls) > 1500:
            raise OverBudgetError

    with pytest.raises(OverBudgetError):
        list(observe(Text(), None, check))


def test_a_source_whose_output_uses_up_the_budget_is_named():
    """What was found in its lines before counts."""
    xid = b"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
    ports = b"port_down\nCA 'a'\n" + b"Port 1\nState: active\n" * 2000
    ticks = iter([0.0] * 10 + [SOURCE_S + 2] * 100_000)

    found = read([of_bytes("crafted", xid + ports)], knowledge(), TimeBudget(lambda: next(ticks)))

    assert [place.source for place in found.cut_short] == ["crafted"]
    assert found.sightings


def test_many_ports_are_judged_in_linear_time():
    """Each port was once compared with all others: minutes for a sample."""

    def rows(count):
        return [Row(1, "CA 'a'")] + [Row(2, "Port 1"), Row(3, "State: active"), Row(4, "Rate: 40")] * count

    ports = tools.__name__ + ".ib_ports"
    module = __import__(ports, fromlist=["read"])

    assert is_linear(lambda count: list(module.read(rows(count), None)), 1000, 8000)


def test_the_last_error_line_is_found_in_linear_time():
    """Each traceback was once followed to the end of the log."""

    def tail(count):
        return b" Traceback (most recent call last)\n" * count + b"\n" * (40 * count)

    assert is_linear(lambda count: last_lines(tail(count), 1), 100, 800)
    assert last_lines(tail(3) + b"ValueError: x\n", 300) == [(299, ("ValueError: x",))]


def test_the_last_error_line_ends_with_the_budget():
    """Its lines are charged as those of the rest."""

    def check():
        raise OverBudgetError

    with pytest.raises(OverBudgetError):
        last_lines(b"a\n", 2, check)


def test_harmless_lines_of_many_sources_are_judged_in_linear_time():
    """The last line of each source was once compared with all harmless lines."""
    modes = knowledge()
    mode = next(modes[name] for name in modes if modes[name].role == "benign")
    sighting = Sighting(mode, 0, Position("a", 1), "x")

    def observations(count):
        sightings = (replace(sighting, position=Position("a", number)) for number in range(count))
        last_lines = ((Position("b", number), ("x",)) for number in range(count))
        return Observations(tuple(sightings), last_lines=tuple(last_lines))

    assert is_linear(judge, observations(300), observations(2400))


@pytest.mark.parametrize("value", [(0, 1), (4, 6), (5, 9), (9, 12), (30, 31)])
def test_a_value_belongs_to_the_column_with_the_nearest_edge(value):
    """The first one of two that are as near."""
    places = [(0, 3), (5, 7), (9, 10), (12, 20)]

    def distance(place):
        return min(abs(place[0] - value[0]), abs(place[1] - value[1]))

    assert Columns("abcd", places).nearest(value) == min(range(4), key=lambda index: distance(places[index]))
