"""Teams' shares as quotas: they add up to the cluster, and what a team does not use others borrow."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from clusterwright.launch.kubernetes.queues import split


def quotas(found, resource="nvidia.com/gpu"):
    """By team: the quota of each flavor together, and what it may borrow."""
    told = {}
    for (_, name), queue in found.of("ClusterQueue").items():
        rows = [
            each for group in queue["spec"]["resourceGroups"] for flavor in group["flavors"]
            for each in flavor["resources"] if each["name"] == resource
        ]  # fmt: skip
        told[name] = [(each["nominalQuota"], each.get("borrowingLimit")) for each in rows]
    return told


def test_gpus_are_divided_by_shares_and_add_up(made):
    """50, 50 and 5 parts of eight GPUs are 3.8, 3.8 and 0.4."""
    assert quotas(made("university")) == {
        "campus-vision": [("4", None)], "campus-language": [("4", None)], "campus-students": [("0", "2")],
    }  # fmt: skip


def test_a_team_of_a_team_divides_its_share(made):
    """As Slurm's tree of accounts does; who has parts keeps none itself."""
    found = made("hgx")

    told = {name: int(rows[0][0]) for name, rows in quotas(found).items()}
    assert sum(told.values()) == 128
    assert told["hgx-research"] == 0
    assert any(each.startswith("teams.research: its share is divided") for each in found.left)


def test_every_resource_that_a_pod_asks_for_is_covered(made):
    """Kueue never admits a job that asks for a resource that its queue does not name."""
    for example in ("lab", "hgx", "a100", "university", "gpu1024"):
        found = made(example)
        (pod,) = found.pods()
        asked = set(pod["spec"]["containers"][0]["resources"]["requests"])

        for queue in found.of("ClusterQueue").values():
            (group,) = queue["spec"]["resourceGroups"]
            assert asked <= set(group["coveredResources"])
            assert all(
                [each["name"] for each in flavor["resources"]] == group["coveredResources"]
                for flavor in group["flavors"]
            )


def test_queues_lend_within_the_cluster_and_end_nobodys_job(made):
    """One cohort; who is over the share waits longer, as in Slurm, and is not preempted."""
    for queue in made("lab").of("ClusterQueue").values():
        assert queue["spec"]["cohort"] == "lab"
        assert set(queue["spec"]["preemption"].values()) == {"Never"}


def test_each_teams_namespace_has_its_queue_and_admits_no_other(made):
    """A job of another team cannot name it."""
    found = made("lab")

    local = {space: each["spec"]["clusterQueue"] for (space, _), each in found.of("LocalQueue").items()}
    assert local == {"vision": "lab-vision", "language": "lab-language"}
    for (_, name), queue in found.of("ClusterQueue").items():
        space = queue["spec"]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]
        assert local[space] == name
    assert found.only("JobSet")["metadata"]["namespace"] == "language"


def test_a_file_without_teams_has_one_queue(made):
    """Everything, for everybody."""
    found = made("a100", cluster=[], job=[])

    assert len(found.of("ClusterQueue")) == len(found.of("LocalQueue")) >= 1


@given(
    whole=some.integers(0, 100_000),
    weights=some.lists(some.integers(0, 1000), min_size=1, max_size=12),
)
def test_a_split_adds_up_and_is_off_by_less_than_one(whole, weights):
    """Whatever the shares."""
    total = sum(weights)
    parts = {str(index): (weight / total if total else 0.0) for index, weight in enumerate(weights)}

    found = split(whole, parts)

    assert sum(found.values()) == (whole if total else 0)
    assert all(abs(found[name] - whole * part) < 1 + 1e-6 for name, part in parts.items())


@given(
    whole=some.integers(0, 1000),
    teams=some.lists(some.tuples(some.integers(1, 50), some.integers(0, 300)), min_size=1, max_size=8),
)
def test_what_is_over_a_teams_most_goes_to_the_others(whole, teams):
    """Nobody is over the most, and nothing is left that somebody could still have."""
    parts = {str(index): float(share) for index, (share, _) in enumerate(teams)}
    most = {str(index): limit for index, (_, limit) in enumerate(teams) if limit < 200}

    found = split(whole, parts, most)

    assert all(found[name] <= limit for name, limit in most.items())
    assert sum(found.values()) == min(whole, sum(most.get(name, whole) for name in parts))


def test_a_team_that_may_have_less_than_its_share_leaves_the_rest_to_others(made):
    """A GPU that is in nobody's quota can be borrowed by nobody."""
    found = made(
        "university",
        cluster=[("vision: {gid: 5000, shares: 50}", "vision: {gid: 5000, shares: 50, max_gpus: 1}")],
    )

    assert quotas(found) == {
        "campus-vision": [("1", "0")], "campus-language": [("6", None)], "campus-students": [("1", "1")],
    }  # fmt: skip


@pytest.mark.parametrize(("whole", "parts", "found"), [
    (10, {"a": 0.6, "b": 0.4}, {"a": 6, "b": 4}),
    (8, {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}, {"a": 3, "b": 3, "c": 2}),
])  # fmt: skip
def test_equal_remainders_go_in_the_order_of_the_file(whole, parts, found):
    """So that the same file gives the same quotas."""
    assert split(whole, parts) == found
