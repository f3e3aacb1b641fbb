"""The page's documents: small, exact, and harmless whatever strangers call things."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.monitor.snapshot import Alert, GpuSnapshot, JobView, NodeView, RunSnapshot, Snapshot, Team
from clusterwright.monitor.snapshot.lacks import NO_PROMETHEUS, lack
from clusterwright.monitor.web import compact
from clusterwright.monitor.web.feed import encoded
from clusterwright.monitor.web.lists import JobQuery, listed

STATES = {
    ("idle", False, 0): "idle", ("mixed", False, 1): "part", ("allocated", False, 2): "full",
    ("down", False, 0): "down", ("idle", True, 0): "drained", ("mixed", True, 1): "draining", ("down", True, 0): "down",
    ("maint", False, 0): "other",
    ("not_responding", False, 1): "down", ("powered_down", False, 0): "other", ("down*", False, 0): "down",
    ("completing", False, 1): "part", ("draining", True, 0): "draining",
}  # fmt: skip


@pytest.mark.parametrize(("state", "drained", "jobs"), STATES)
def test_a_colour_says_the_state(state, drained, jobs):
    """Out of service counts before in use, down before all."""
    node = NodeView("n1", state, drained=drained, jobs=tuple("12"[:jobs]))

    assert compact.kind(node) == STATES[state, drained, jobs]


def test_what_nobody_said_is_nothing_and_not_zero():
    """A GPU without a figure has None in its place, and takes no part in the mean."""
    node = NodeView(
        "n1",
        "mixed",
        gpus_total=2,
        gpus=(GpuSnapshot(0), GpuSnapshot(1, utilisation=0.5, memory_used=1, memory_total=4, celsius=40.4)),
    )
    picture = Snapshot("c", 0.0, (node,))

    assert compact.node_row(node)[-1] == [None, None, None, None, 50, 25, 40, None]
    assert compact.sums(picture)["use"] == 0.5
    assert compact.sums(Snapshot("c", 0.0, (NodeView("n1", "idle", gpus=(GpuSnapshot(0),)),)))["use"] is None


def test_a_muted_alert_is_shown_and_not_counted():
    """A node that a person drained wakes nobody."""
    alerts = (Alert("A", "critical", "n1", 1.0, "x"), Alert("B", "critical", "n2", 1.0, "y", muted=True))
    document = compact.whole(Snapshot("c", 0.0, alerts=alerts))

    assert len(document["alerts"]) == 2
    assert document["sums"]["critical"] == document["sums"]["alerts"] == 1


@pytest.mark.parametrize(
    "runbook", ["javascript:alert(1)", "data:text/html,x", " https://x", "//evil.example"]
)
def test_a_runbook_that_is_no_web_address_is_no_link(runbook):
    """Whoever writes alert rules writes no script."""
    assert compact.alert_row(Alert("A", "info", "n", 1.0, "x", runbook=runbook))["runbook"] == ""
    assert (
        compact.alert_row(Alert("A", "info", "n", 1.0, "x", runbook="https://a/b"))["runbook"]
        == "https://a/b"
    )


hostile = st.text(st.characters(), max_size=300)


@given(hostile, hostile, hostile)
def test_no_text_of_a_stranger_leaves_with_signs_that_act(name, reason, why):
    """Job, node, run, team and alert: no control, no direction mark, one line, bounded; and JSON can carry it."""
    job = JobView(
        "1",
        name,
        name,
        name,
        name,
        "PENDING",
        reason,
        why,
        nodes=(name,),
        run=RunSnapshot(name, state=why, slow_rank=name),
    )
    node = NodeView(
        name,
        name,
        reason=why,
        group=name,
        partitions=(name,),
        gpus=(GpuSnapshot(0, name, job=name),),
        jobs=(name,),
    )
    picture = Snapshot(
        name, 0.0, (node,), (job,), (Team(name),), (Alert(name, name, name, 0.0, why, why, why),), (why,)
    )

    documents = [
        compact.whole(picture),
        compact.job_page(job),
        compact.node_page(node),
        listed((job,), JobQuery("all", "", "id")),
    ]
    for text in texts(documents):
        assert text.isprintable(), ascii(text)
        assert len(text) <= compact.LONGEST
    assert json.loads(encoded(documents)) == json.loads(json.dumps(documents))


def texts(value):
    """Every text of a document, wherever in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts(each)


def applied(old, change):
    """As the page's own script makes the new document of the old one (store.js)."""
    nodes = {row[0]: row for row in ([] if change.get("all") else old["nodes"])}
    nodes |= {row[0]: row for row in change["nodes"]}
    return (
        old
        | {key: value for key, value in change.items() if key not in ("nodes", "all")}
        | {"nodes": list(nodes.values())}
    )


names = st.sampled_from(["n1", "n2", "n3", "n4"])
nodes = st.lists(st.builds(NodeView, names, st.sampled_from(["idle", "mixed", "down"]), gpus_used=st.integers(0, 8)),
                 unique_by=lambda node: node.name)  # fmt: skip
pictures = st.builds(
    Snapshot, st.just("c"), st.floats(0, 10), nodes.map(tuple), missing=st.just(()) | st.just(("x",))
)


@given(pictures, pictures)
def test_a_difference_makes_the_new_of_the_old(before, after):
    """For any two pictures, nodes that come, go or change places included."""
    old, new = compact.whole(before), compact.whole(after)

    assert applied(old, compact.difference(old, new)) == new


def test_a_difference_holds_only_what_differs(small):
    """One GPU's use: one node's row, the moment and the sums; not a hundred rows."""
    node = next(each for each in small.nodes if each.gpus)
    other = dataclasses.replace(
        node, gpus=(dataclasses.replace(node.gpus[0], utilisation=0.123), *node.gpus[1:])
    )
    nodes = tuple(other if each is node else each for each in small.nodes)
    change = compact.difference(compact.whole(small), compact.whole(dataclasses.replace(small, nodes=nodes)))

    assert [row[0] for row in change["nodes"]] == [node.name]
    assert change.keys() <= {"nodes", "sums"}


def test_what_a_snapshot_lacks_is_in_both_languages(small):
    """The page shows that of its reader; the output of a program stays as it is."""
    lines = (lack("measures", NO_PROMETHEUS), lack("jobs", "slurm_load_jobs error: Connection refused"))
    rows = compact.whole(dataclasses.replace(small, missing=lines))["missing"]

    assert rows[0]["en"] == f"GPU metrics: {NO_PROMETHEUS}"
    assert rows[0]["zh"].startswith("GPU 指标\uff1a未启用 Prometheus")
    assert rows[1]["zh"] == "作业队列\uff1aslurm_load_jobs error: Connection refused"


def test_a_curve_is_thinned_to_its_end():
    """At most so many points, and the newest is one of them."""
    points = tuple((step, step / 10) for step in range(1000))
    thin = compact.thinned(points, 40)

    assert len(thin) <= 40
    assert thin[-1] == [999, 99.9]
    assert compact.thinned((), 40) == []


def test_a_job_on_odd_hosts_is_shown_all_the_same():
    """Names that no hostlist can fold stand as they are."""
    assert (
        compact.job_row(JobView("1", "a", "u", "t", "p", "RUNNING", nodes=("n[1", "x,,y")))["nodes"]
        == "n[1,x,,y"
    )


@pytest.mark.parametrize(("query", "wish"), [
    ({}, JobQuery("running", "", "started", 0)),
    ({"of": "waiting", "find": " A  b ", "page": "3"}, JobQuery("waiting", "a  b", "priority", 3)),
    ({"of": "<b>", "order": "; drop", "page": "-1"}, JobQuery("running", "", "started", 0)),
    ({"page": "99999999999999999999"}, JobQuery()), ({"page": "²"}, JobQuery()),
    ({"find": "x" * 999}, JobQuery(find="x" * 100)),
])  # fmt: skip
def test_a_wish_is_read_from_any_address(query, wish):
    """What is none of ours is as if it was not said."""
    assert JobQuery.read(query) == wish


def test_a_list_is_found_ordered_and_cut(small):
    """Words that all have to be there; a host's name too; the page past the end is the last one."""
    running = listed(small.jobs, JobQuery("running", "", "gpus", 0))
    assert [job["gpus"] for job in running["jobs"]] == sorted(
        (job["gpus"] for job in running["jobs"]), reverse=True
    )

    job = next(each for each in small.jobs if each.nodes)
    found = listed(small.jobs, JobQuery("all", f"{job.nodes[0]} {job.user}", "id", 0))
    assert job.id in [each["id"] for each in found["jobs"]]
    waiting = listed(small.jobs, JobQuery("waiting", "", "priority", 9999))
    assert waiting["page"] == waiting["pages"] - 1
    assert 0 < len(waiting["jobs"]) <= 50
    assert listed(small.jobs, JobQuery("all", "no such word", "id", 0)) == {
        "jobs": [],
        "count": 0,
        "page": 0,
        "pages": 1,
    }


def test_a_loss_that_is_no_number_is_sent_as_nothing():
    """A run that diverged does not stop the page: browsers read neither NaN nor infinity."""
    run = RunSnapshot("r", loss=float("nan"), mfu=float("inf"), curve=((1, 2.0), (2, float("nan"))))
    document = encoded(compact.job_page(JobView("1", "a", "u", "t", "p", "RUNNING", run=run)))

    assert b"NaN" not in document
    assert json.loads(document)["run"]["curve"] == [[1, 2.0], [2, None]]
    assert json.loads(document)["run"]["mfu"] is None
