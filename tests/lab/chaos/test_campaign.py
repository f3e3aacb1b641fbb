"""What a campaign plants, and how it judges: pure."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.config.load import load_cluster
from clusterwright.diagnose.mode import tables
from clusterwright.lab import faults
from clusterwright.lab.chaos.fault_injection import places
from clusterwright.lab.chaos.html_report import render_html
from clusterwright.lab.chaos.kind import (
    EARLIEST,
    EVERY,
    LATEST,
    Planned,
    choose_host,
    draw,
    job,
    job_without_fault,
    kinds,
    read,
)
from clusterwright.lab.chaos.score import FaultRecord, document, judge, summary
from clusterwright.lab.demo.events import DemoEvent

EXAMPLE = Path(__file__).parents[3] / "examples" / "campaign" / "cluster.yaml"
WELL = FaultRecord(
    run="campaign-1", host="gpu-node2", detected_s=1.0, progress_s=9.0, causes=("node-lost",), actions=("drain",),
    outcome="finished", lost_steps=3, ideal_s=40.0, duration_s=50.0,
)  # fmt: skip


def planned(name):
    """A fault of that kind."""
    return Planned(1, kinds()[name], 0.5, 0.5)


@given(st.integers(), st.integers(1, 300))
def test_a_seed_says_all(seed, count):
    """The same faults each time, every kind as often as any other, inside the training."""
    drawn = draw(seed, count, kinds())
    assert drawn == draw(seed, count, kinds())
    assert [each.number for each in drawn] == list(range(1, count + 1))
    often = [sum(each.kind.name == name for each in drawn) for name in kinds()]
    assert max(often) - min(often) <= 1
    assert all(EARLIEST <= each.progress <= LATEST for each in drawn)


@given(st.lists(st.text(min_size=1), min_size=1, unique=True), st.floats(0, 1, exclude_max=True))
def test_a_host_is_chosen_whatever_the_order_in_which_they_are_named(hosts, which):
    """By its name alone."""
    assert choose_host(hosts, which) == choose_host(list(reversed(hosts)), which)


def test_every_kind_is_one_that_the_lab_can_plant_and_whose_cause_somebody_can_say():
    """A fault of the lab with options that it takes; classes that `reason` knows."""
    classes = {name.partition("/")[0] for name in tables()}
    for kind in kinds().values():
        for fault, options in (
            (kind.fault, kind.options),
            (kind.second_fault.get("fault", ""), kind.second_fault),
        ):
            if fault:
                assert set(options) - {"fault", "on"} <= set(faults.kinds()[fault].OPTIONS), kind.name
        if kind.subject in ("host", "run"):
            assert set(kind.cause) <= classes, kind.name


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('fault = "kill-host"\non = "member"\nsubject = "none"', "actions"),
        ('about = ""\nactions = []\non = "member"\nsubject = "none"', "one of fault, signal"),
        (
            'about = ""\nactions = []\non = "roof"\nsubject = "none"\nfault = "x"',
            "`on` or `subject`",
        ),
        (
            'about = ""\nactions = []\non = "none"\nsubject = "run"\nfault = "x"',
            "requires a `subject`",
        ),
    ],
)
def test_a_row_that_says_too_little_is_refused(row, said):
    """With its name."""
    with pytest.raises(ValueError, match=f"kinds.toml: mine: .*{said}"):
        read(f"[mine]\n{row}")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({}, None),
        ({"detected_s": None}, "detected"),
        ({"causes": ("network-connectivity", "node-lost")}, "cause"),
        ({"causes": ()}, "cause"),
        ({"actions": ("reset-gpu",)}, "action"),
        ({"outcome": "failed"}, "finished"),
        ({"lost_steps": EVERY + 1}, "exact"),
        ({"missing_steps": 1}, "exact"),
        ({"differing_steps": 1}, "exact"),
        ({"harmed": ("gpu-node5",)}, "unharmed"),
    ],
)
def test_each_thing_that_may_go_wrong_is_seen(change, wrong):
    """And nothing else is blamed for it."""
    score = judge(planned("host-killed"), dataclasses.replace(WELL, **change), EVERY)
    judged = ("detected", "cause", "action", "finished", "exact", "unharmed")
    assert [name for name in judged if getattr(score, name) is False] == ([wrong] if wrong else [])
    assert score.passed is (wrong is None)


def test_what_has_to_be_done_is_missed_when_nothing_was():
    """A GPU off the bus: jobs may not go there again."""
    seen = dataclasses.replace(WELL, causes=("gpu-hardware",), actions=())
    assert not judge(planned("gpu-lost"), seen, EVERY).action
    assert judge(planned("gpu-lost"), dataclasses.replace(seen, actions=("drain",)), EVERY).action


def test_a_program_that_breaks_is_to_fail():
    """Finished would mean that nobody has noticed."""
    seen = dataclasses.replace(WELL, outcome="failed", causes=("user-code",), actions=())
    assert judge(planned("user-exception"), seen, EVERY).passed
    assert judge(planned("user-exception"), dataclasses.replace(seen, outcome="no-progress"), EVERY).finished
    assert not judge(planned("user-exception"), dataclasses.replace(seen, outcome="finished"), EVERY).finished


def test_a_torn_checkpoint_costs_one_interval_more_and_no_step_beyond():
    """The one before it is what is left."""
    assert judge(planned("checkpoint-torn"), dataclasses.replace(WELL, lost_steps=2 * EVERY), EVERY).exact
    assert not judge(
        planned("checkpoint-torn"), dataclasses.replace(WELL, lost_steps=2 * EVERY + 1), EVERY
    ).exact


def test_figures_are_shares_of_what_could_be_judged():
    """A fault that nobody has to explain counts in no share of causes; a job that must fail in none of finished."""
    slow = dataclasses.replace(WELL, causes=(), actions=(), progress_s=None)
    broke = dataclasses.replace(WELL, outcome="failed", causes=("numerical",), actions=(), progress_s=None)
    lost = dataclasses.replace(WELL, causes=("shm",), harmed=("a", "b"))
    names = {"link-slow": slow, "user-exception": broke, "host-killed": lost}
    found = summary([judge(planned(name), seen, EVERY) for name, seen in names.items()])

    assert (found["causes_right"], found["finished"], found["healthy_hosts_taken_out"]) == (0.0, 1.0, 2)
    assert found["goodput"] == pytest.approx(80 / 100)
    assert found["recovery_s"] == {"host-killed": 9.0}
    assert summary([])["causes_right"] is None


def test_the_page_escapes_what_hosts_say_and_names_what_was_missed():
    """A host's words are no HTML."""
    seen = dataclasses.replace(WELL, causes=("<script>",), harmed=("gpu&5",))
    text = render_html([judge(planned("host-killed"), seen, EVERY)], seed=3, fault_count=9, machine="2 cores")
    assert "Campaign 3: 1 of 9 faults" in text
    assert "&lt;script&gt;" in text
    assert "gpu&amp;5" in text
    assert "<script>" not in text
    assert "class='missed'" in text
    assert (
        "The campaign cuts the power of a lab host that trains<br>演练切断一台训练中的实验主机的电源" in text
    )


def test_each_fault_is_kept_as_json():
    """With its name, what was judged and what was seen."""
    (row,) = document([judge(planned("host-killed"), WELL, EVERY)])
    assert json.loads(json.dumps(row))["kind"] == "host-killed"
    assert (row["cause"], row["detected_s"], row["lost_steps"]) == (True, 1.0, 3)


def event(kind, host, **more):
    """An event of a run."""
    return DemoEvent(1.0, kind, host, 1, None, more)


def test_hosts_are_what_they_are_for_the_training():
    """The spare that is held is not free; the supervisor's own host is no member to be struck, unless it is alone."""
    cluster = load_cluster(EXAMPLE)
    events = [
        event("job_start", "gpu-node1", hosts=["gpu-node1", "gpu-node2", "gpu-node3"]),
        event("generation_start", "gpu-node1", hosts=["gpu-node1", "gpu-node2"]),
    ]
    found = places(cluster, events)
    assert found.free == ("gpu-node4", "gpu-node5", "gpu-node6", "gpu-node7", "gpu-node8")
    assert [found.host_for(on, 0.0) for on in ("member", "supervisor", "free", "control", "none")] == [
        "gpu-node2", "gpu-node1", "gpu-node4", "control", "",
    ]  # fmt: skip
    alone = places(cluster, [events[0], event("generation_start", "gpu-node1", hosts=["gpu-node1"])])
    assert alone.host_for("member", 0.0) == "gpu-node1"


@pytest.mark.parametrize("name", kinds())
def test_every_job_is_one_that_a_user_could_write(name):
    """Two hosts and a spare; what breaks by itself is a script, or a learning rate."""
    made = job(kinds()[name], "/shared", "alice", 7)
    assert (made.nodes, made.name) == (2, "campaign-7")
    assert (made.command is None) == (kinds()[name].program in ("", "nan"))
    if not kinds()[name].program:
        assert made.arguments == job_without_fault("/shared", "alice").arguments


@pytest.mark.train
def test_recipes_know_the_arguments_that_they_are_given():
    """A training that is to fail for its numbers must not fail for its command line."""
    jobs = [job_without_fault("/shared", None), *(job(kind, "/shared", None, 1) for kind in kinds().values())]
    told = subprocess.run(
        [sys.executable, "-m", "clusterwright.runtime.recipes.gpt", "--help"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    given_ = {name for one in jobs for name in one.arguments or {}}
    assert given_ >= {"steps", "learning_rate"}
    assert [name for name in given_ if f"--{name.replace('_', '-')} " not in told] == []
