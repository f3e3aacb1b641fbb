"""How much of the steps was communication, from events alone; absent with the reason where nobody measured it."""

import pytest

from clusterwright.onhost.supervisor.goodput import advice, communication, reading, speed

STEP_S = 0.5


def steps(count=40, *, share=0.2, generation=1, first_s=3.0, every=4):
    """Steps of half a second after a long one; each fourth says what is known, as it comes with the votes."""
    found = []
    for step in range(1, count + 1):
        busy_s = first_s + (step - 1) * STEP_S
        more = {}
        if step % every == 1:
            more = {"communicated": 2.0 + share * (busy_s - first_s), "communicated_of": busy_s}
        found.append({
            "time": 100 * generation + busy_s, "event": "step", "step": step, "generation": generation, "busy": busy_s,
            "waited": 0.0, "seconds": STEP_S, "loss": 1.0, **more,
        })  # fmt: skip
    return found


def said(known="measured", hosts=("a",), generation=1):
    """The loop begins."""
    at = {"time": 100 * generation, "generation": generation}
    return [
        {**at, "event": "generation_start", "hosts": list(hosts)},
        {**at, "event": "communication", "status": known},
    ]


def test_the_first_step_is_left_out():
    """It took three seconds, two of them communication, as connections are made then."""
    assert communication.share(steps()) == pytest.approx(0.2)
    assert speed.progress(steps(), {}, running=True)["communication"] == pytest.approx(0.2)


def test_generations_count_together():
    """By their time in steps."""
    told = [*said(), *steps(41, share=0.1), *said(generation=2), *steps(121, share=0.3, generation=2)]

    assert communication.combine_generations(told).share == pytest.approx(0.25)


@pytest.mark.parametrize(
    "steps_",
    [[], steps(1), [{**event, "communicated_of": 5.0} for event in steps()], [{"event": "step"}] * 3],
    ids=["no steps", "one", "no time between", "nothing said"],
)
def test_what_was_not_measured_is_absent(steps_):
    """And not zero; nor is anything said of it."""
    assert communication.share(steps_) is None
    assert communication.lines([*said("sharded"), *steps_]) == []
    assert reading.shares({"communication": communication.share(steps_)}) == []


@pytest.mark.parametrize("known", ["alone", "sharded", "stages", "other", ""])
def test_each_reason_is_known(known):
    """As the runtime says it."""
    assert communication.status(said(known)) == known


def test_a_clock_that_goes_backwards_gives_no_share_below_zero():
    """Sums never fall; where a file is torn and they do, it is nothing."""
    torn = steps()
    torn[-4] = {**torn[-4], "communicated": -5.0}

    assert communication.share(torn) == 0.0


def test_little_of_it_is_one_line():
    """Which says so; of few steps nothing is said."""
    assert communication.lines([*said(), *steps(share=0.03)]) == [
        "communication: exposed for 3.0% of the time in steps"
    ]
    assert communication.lines([*said(), *steps(9)]) == []


def test_much_of_it_says_what_to_do():
    """On several hosts the network may be why."""
    one, todo = communication.lines([*said(), *steps()])
    several = communication.lines([*said(hosts=("a", "b")), *steps()])

    assert one == "communication: exposed for 20.0% of the time in steps, 100 ms of 500 ms"
    assert "model.no_sync" in todo
    assert "wright check" not in todo
    assert "wright check" in several[1]
    assert several[0] in advice.list_advice([*said(hosts=("a", "b")), *steps()], {})


def test_what_rank_0_alone_says_may_hold_a_slow_rank():
    """And is said so."""
    one, todo = communication.lines([*said("bounded"), *steps()])

    assert one.startswith(
        "communication: rank 0 waited 20.0% of the time in steps for the gradients of others"
    )
    assert "check for a slower rank" in todo


def test_what_is_waited_for_stands_together():
    """In the line of a terminal, and in the text for Prometheus."""
    assert reading.fast({"mfu": 0.4, "data_wait": 0.01, "communication": 0.2}) == [
        "MFU 40.0%",
        "data wait 1.0%",
        "communication 20.0%",
    ]
