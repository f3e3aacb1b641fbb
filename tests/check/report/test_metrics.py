"""What Prometheus reads: its own parser is content, and only what is not well has a series."""

from prometheus_client.parser import text_string_to_metric_families

from clusterwright.check.bench.store import Stored
from clusterwright.check.report import metrics
from clusterwright.check.verdict import Status, Verdict

BAD = Verdict("gpu-node2", "link_speed", Status.FAIL, '10 "Gbit"\n', part="compute")
BENCH = Stored(
    3, "network", 1000.0, "7", (), (), (), (Verdict("gpu-node3", "network", Status.WARN, "slow"),), {}
)


def samples(verdicts, benches=()):
    """Each sample's name, its labels without the cluster's, and its value."""
    text = metrics("ours", verdicts, benches, checked_at=2000.5)
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert {sample.labels["cluster"] for sample in found} == {"ours"}
    return [
        (sample.name, {k: v for k, v in sample.labels.items() if k != "cluster"}, sample.value)
        for sample in found
    ]


def test_a_part_that_is_not_well_has_a_series_and_the_others_are_counted():
    """A thousand hosts that are well make one line."""
    well = [Verdict(f"gpu-node{index}", "link_speed", Status.OK, "100 Gbit/s") for index in range(1000)]
    found = samples([*well, BAD])

    assert ("clusterwright_verdicts", {"check": "link_speed", "status": "ok"}, 1000) in found
    assert ("clusterwright_verdicts", {"check": "link_speed", "status": "fail"}, 1) in found
    assert [labels for name, labels, _ in found if name == "clusterwright_not_well"] == [
        {"check": "link_speed", "host": "gpu-node2", "part": "compute", "status": "fail"}
    ]


def test_it_says_when():
    """An alert can tell that nobody has looked for a week."""
    found = samples([], [BENCH])

    assert ("clusterwright_check_time_seconds", {}, 2000.5) in found
    assert ("clusterwright_bench_time_seconds", {"bench": "network"}, 1000.0) in found


def test_what_benches_found_counts_too():
    """By the name of the bench."""
    found = samples([], [BENCH])
    labels = {"check": "network", "host": "gpu-node3", "part": "", "status": "warn"}

    assert ("clusterwright_not_well", labels, 1) in found
