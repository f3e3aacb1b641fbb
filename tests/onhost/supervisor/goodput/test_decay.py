"""What becomes slowly worse in a run: speed, hosts, hours, memory, data; and what only looks like it."""

import math
import random

import pytest

from clusterwright.onhost.supervisor.goodput import decay
from clusterwright.onhost.supervisor.goodput.decay import find_decays

START = 1_760_000_000.0
GIB = 2**30


def utc_hour(moment):
    """Day and hour in UTC."""
    return int(moment // 86400), int(moment % 86400 // 3600)


def plan(**more):
    """Rank 0's loop begins with 256 samples per step."""
    return {"time": START, "event": "plan", "step": 0, "batch": 256, "device": "cpu", "generation": 1, **more}


def steps(
    count=600, *, seconds=lambda _: 1.0, waits=lambda _: 0.02, generation=1, begin=START, seed=1, **more
):
    """Step events, with noise of 3 %; `seconds`, `waits` and the other fields are functions of the share of the run."""
    source, events, busy, waited, moment = random.Random(seed), [], 0.0, 0.0, begin
    for number in range(count):
        share = number / count
        length = seconds(share) * math.exp(source.gauss(0, 0.03))
        busy, waited, moment = busy + length, waited + waits(share) * length, moment + length
        fields = {name: value(share) for name, value in more.items()}
        events.append(
            {
                "time": moment,
                "event": "step",
                "step": number + 1,
                "seconds": length,
                "busy": busy,
                "waited": waited,
                "waited_most": waited,
                "generation": generation,
                "host": "n1",
                **fields,
            }
        )
    return events


def samples(
    host, *, seconds=lambda _: 1.0, waits=0.02, memory=lambda _: 10.0, count=200, available=40.0, seed=1
):
    """A host's samples each half minute: two ranks with one step per second, and memory in GiB."""
    source, own = random.Random(f"{host} {seed}"), 0.0
    events = []
    for number in range(count):
        share = number / count
        own += 30 * seconds(share) * math.exp(source.gauss(0, 0.03))
        events.append(
            {
                "time": START + 30 * number,
                "event": "sample",
                "host": host,
                "generation": 1,
                "step": [30 * number] * 2,
                "own": [own, 0.9 * own],
                "waited": [waits * own] * 2,
                "memory": [memory(share) * GIB / 2] * 2,
                "available": (available(share) if callable(available) else available) * GIB,
            }
        )
    return events


def kinds(events, rows=()):
    """Return the kinds of what is found."""
    return [each.kind for each in find_decays(events, list(rows), utc_hour)]


def test_a_steady_run_has_no_decay():
    """Noise of 3 %, on rank 0 and on four hosts."""
    rows = [sample for number in range(4) for sample in samples(f"n{number}")]

    assert kinds([plan(), *steps()], rows) == []


def test_falling_samples_are_found_with_their_slope():
    """Steps that take 1 s, and 1.4 s after ten minutes."""
    (found,) = find_decays([plan(), *steps(seconds=lambda share: 1 + 0.4 * share)], [])

    assert found.kind == decay.RATES
    assert found.text.startswith("rates fall from 2")
    assert " samples/s, " in found.text
    assert " per minute, since 20" in found.text


def test_tokens_decide_where_each_step_has_them():
    """Longer sequences take longer steps at the same number of tokens per second."""
    longer = steps(seconds=lambda share: 1 + share, tokens=lambda share: 1000 * (1 + share))

    assert kinds([plan(), *longer]) == []
    assert kinds([plan(), *steps(seconds=lambda share: 1 + share, tokens=lambda _: 1000)]) == [decay.RATES]


def test_another_batch_size_after_a_restart_is_no_decay():
    """Each generation is compared with itself."""
    events = [plan(), *steps(300)]
    again = steps(300, seconds=lambda _: 2.0, generation=2, begin=events[-1]["time"])

    assert kinds([*events, plan(generation=2, batch=512), *again]) == []


def test_a_growing_wait_for_data_comes_before_the_speed():
    """From 2 % to 40 % of the time in steps."""
    waits = {"seconds": lambda share: 1 + 0.6 * share, "waits": lambda share: 0.02 + 0.38 * share}
    found = find_decays([plan(), *steps(**waits)], [])

    assert [each.kind for each in found] == [decay.DATA, decay.RATES]
    assert found[0].text.startswith("the wait for data grows from ")
    assert "% to 40% of the time in steps" in found[0].text


def test_a_host_that_becomes_slower_is_named():
    """Compared with the others at the same time: when all of them slow down, none is the slow host."""
    rest = [sample for name in ("n1", "n3", "n4") for sample in samples(name)]
    (found,) = find_decays([], [*rest, *samples("n2", seconds=lambda share: 1 + 0.5 * share)])
    shared = [
        sample for number in range(4) for sample in samples(f"n{number}", seconds=lambda share: 1 + share)
    ]

    assert (found.kind, found.host) == (decay.HOST, "n2")
    assert found.text.startswith("n2 becomes slower: its own part of a step grows from 1.0")
    assert "waits for data" not in found.text
    assert kinds([], shared) == []


def test_a_slow_host_that_waits_for_data_is_said_to():
    """Four fifths of its time."""
    slow = samples("n2", seconds=lambda share: 1 + share, waits=0.8)
    (found,) = find_decays([], [*samples("n1"), *slow])

    assert found.host == "n2"
    assert found.text.endswith("% of it waits for data")


@pytest.mark.parametrize(
    ("seconds", "ratio"),
    [(lambda share: 1 if share < 0.4 else 2.5, 2.5), (lambda _: 1.3, 1.3)],
    ids=["from one time on", "always"],
)
def test_a_host_that_stays_slower_is_named(seconds, ratio):
    """Its time rises no more, so that there is no trend."""
    rest = [sample for name in ("n1", "n3", "n4") for sample in samples(name)]
    (found,) = find_decays([], [*rest, *samples("n2", seconds=seconds)])

    assert (found.kind, found.host) == (decay.HOST, "n2")
    named = float(found.text.removeprefix("n2 stays slower: its own part of a step takes ").split()[0])
    assert named == pytest.approx(ratio, rel=0.02)


@pytest.mark.parametrize(
    "seconds",
    [
        lambda share: 2.0 if 0.3 < share < 0.9 else 1.0,
        lambda share: 2.0 if share > 0.85 else 1.0,
        lambda share: 1.3 if int(share * 12) % 2 else 1.0,
        lambda _: 1.1,
    ],
    ids=["is over", "is short", "comes and goes", "is small"],
)
def test_a_host_that_was_slow_for_a_while_does_not_stay_slow(seconds):
    """The last quarter of the time has to be slow, by 15 %."""
    rest = [sample for name in ("n1", "n3", "n4") for sample in samples(name)]

    assert kinds([], [*rest, *samples("n2", seconds=seconds)]) == []


def test_a_leak_is_told_with_its_host_and_the_time_that_is_left():
    """10 to 16 GiB in 100 minutes, 40 GiB available: 11 hours."""
    rows = [*samples("n1"), *samples("n2", memory=lambda share: 10 + 6 * share)]
    (found,) = find_decays([], rows)

    assert (found.kind, found.host) == (decay.MEMORY, "n2")
    assert "memory of the ranks on n2 grows from 10.1 GiB to 15.9 GiB, 3.6 GiB per hour" in found.text
    assert found.text.endswith("; the last 40.0 GiB are used up in about 11 h")


@pytest.mark.parametrize("memory", [[0, 0], [8 * GIB, 0]])
def test_ranks_that_have_ended_do_not_end_a_leak(memory):
    """The last sample of a run may find processes without memory."""
    rows = samples("n2", memory=lambda share: 10 + 6 * share, count=40)
    (found,) = find_decays([], [*rows[:-1], {**rows[-1], "memory": memory}])

    assert (found.kind, found.host) == (decay.MEMORY, "n2")


def test_what_is_left_on_a_host_falls_though_its_ranks_do_not_grow():
    """A process that is no rank's; with ranks that grow, hosts may share a machine, and the ranks are the reason."""
    falls = samples("n2", available=lambda share: 40 - 12 * share)
    [found] = find_decays(steps(), [*samples("n1"), *falls])
    [grows] = find_decays(steps(), [*samples("n1", memory=lambda share: 10 + 6 * share), *falls])

    assert (found.kind, found.host) == (decay.FREE_MEMORY, "n2")
    assert "memory left on n2 falls from 39.8 GiB to 28.3 GiB, 7.2 GiB per hour" in found.text
    assert "used up in about 4 h; the ranks do not grow" in found.text
    assert (grows.kind, grows.host) == (decay.MEMORY, "n1")


def test_what_a_job_has_allocated_once_is_no_fall():
    """A step down, as of a buffer, a fall that ends, and one that lasts for weeks."""
    step = samples("n1", available=lambda share: 40 if share < 0.3 else 20)
    warm = samples("n2", available=lambda share: 40 - 20 * (1 - math.exp(-10 * share)))
    slow = samples("n3", available=lambda share: 2048 - 4 * share)

    assert find_decays(steps(), [*step, *warm, *slow]) == []


def test_memory_that_lasts_for_weeks_is_no_finding():
    """4 GiB a day of 2 TiB; and caches that fill once."""
    slow = samples("n1", memory=lambda share: 1.0 + 0.3 * share, available=2048)
    filled = samples("n1", memory=lambda share: 10 + 6 * (1 - math.exp(-10 * share)))

    assert kinds([], slow) == []
    assert kinds([], filled) == []


def test_gpu_memory_of_rank_0_is_told_apart_from_the_hosts():
    """A peak that grows with each step."""
    events = [plan(device="NVIDIA H100"), *steps(memory=lambda share: (20 + 10 * share) * GIB)]
    (found,) = find_decays(events, samples("n1"))

    assert (found.kind, found.host) == (decay.GPU_MEMORY, "n1")
    assert found.text.startswith("GPU memory of rank 0 on n1 grows from 20.2 GiB to 29.8 GiB")


@pytest.mark.parametrize(
    ("hours", "days", "expected"), [((2, 3), 4, True), ((2, 3), 2, False), ((), 4, False)]
)
def test_the_same_hours_of_each_day_are_told(hours, days, expected):
    """A backup at night, on at least three days."""
    begin = START - START % 86400
    events = [
        {
            "time": begin + 600 * number,
            "event": "step",
            "step": number,
            "generation": 1,
            "seconds": (1.5 if number // 6 % 24 in hours else 1.0) * (1 + number % 3 / 100),
        }
        for number in range(144 * days)
    ]
    found = find_decays([plan(), *events], [], utc_hour)

    assert [each.kind for each in found] == [decay.HOURS] * expected
    if expected:
        assert found[0].text == "rates are low each day at 02:00, 03:00: 33% lower, on 4 of 4 days"


def test_few_steps_and_short_runs_have_no_decay():
    """Nothing follows from 40 steps, or from two seconds."""
    slower = {"seconds": lambda share: 1 + share}

    assert kinds([plan(), *steps(40, **slower)]) == []
    assert kinds([plan(), *steps(seconds=lambda share: 0.002 * (1 + share))]) == []


@pytest.mark.parametrize(
    "damage", [{"own": None}, {"own": ["x", 1]}, {"own": [1.0]}, {"memory": [True]}, {"step": [math.nan, 1]}]
)
def test_damaged_samples_are_left_out(damage):
    """A user can write any line."""
    rows = [{**sample, **damage} for sample in samples("n2", memory=lambda share: 10 + 20 * share)]

    assert kinds([], [*samples("n1"), *rows]) == []


def test_at_most_one_of_a_thousand_steady_runs_has_a_finding():
    """Over 150 runs with steps, waits, memory and two hosts each: 900 series."""
    found = 0
    for seed in range(150):
        rows = [sample for name in ("n1", "n2") for sample in samples(name, seed=seed, count=100)]
        found += bool(find_decays([plan(), *steps(300, seed=seed)], rows, utc_hour))

    assert found == 0
