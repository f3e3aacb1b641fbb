"""Manifests against the published schemas: Kubernetes' own by version, the operators' by release, both strictly."""

import copy

import jsonschema
import kubernetes_validate
import pytest

OLD = ("jobset-v0.8.2", "kueue-v0.10.6", "trainer-v2.0.0")
NEW = ("jobset-v0.12.0", "kueue-v0.19.2", "trainer-v2.3.0")
EXAMPLES = ("lab", "hgx", "a100", "university", "gpu1024")


@pytest.mark.parametrize("releases", [OLD, NEW], ids=["old", "new"])
@pytest.mark.parametrize("kind", ["jobset", "trainjob"])
@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_as_the_schemas_want_it(made, hold, example, kind, releases):
    """Five clusters of different kinds, in the words of the oldest and the newest release."""
    found = made(example, kind=kind)

    assert {"Namespace", "ClusterQueue", "TrainJob" if kind == "trainjob" else "JobSet"} <= {
        each["kind"] for each in found.objects
    }
    assert hold(found, "1.33", releases) == len(found.objects)


@pytest.mark.parametrize("minor", [26, 28, 30, 32, 34, 36, 37])
def test_every_version_of_kubernetes_that_can_have_it_takes_it(made, hold, minor):
    """From 1.26 on, in that version's own schemas; 1.37 is the newest that there are."""
    assert hold(made("hgx", version=(1, minor)), f"1.{minor}", NEW) > 10


@pytest.mark.parametrize("where", [
    ("spec", "failurePolicy"), ("spec", "replicatedJobs", 0, "template", "spec"), ("spec",),
], ids=str)  # fmt: skip
def test_the_schemas_refuse_a_field_that_is_none(made, hold, where):
    """A word that an operator does not know would be dropped by its server, or refused: here it is found."""
    found = made("hgx")
    at = found.only("JobSet")
    for step in where:
        at = at[step]
    at["maxRestart"] = 3

    with pytest.raises(jsonschema.ValidationError, match="maxRestart"):
        hold(found, "1.33", NEW)


def test_the_schemas_refuse_a_pod_with_a_word_of_its_own(made, hold):
    """Pods are not a hole in it."""
    found = made("hgx")
    next(found.pods())["spec"]["containers"][0]["resource"] = {}

    with pytest.raises(kubernetes_validate.ValidationError):
        hold(found, "1.33", NEW)


def test_the_schemas_refuse_a_queue_with_a_wrong_quota(made, hold):
    """And quantities have a form."""
    found = made("lab")
    queue = next(iter(found.of("ClusterQueue").values()))
    broken = copy.deepcopy(queue)
    broken["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "much"
    found.objects[found.objects.index(queue)] = broken

    with pytest.raises(jsonschema.ValidationError, match="much"):
        hold(found, "1.33", NEW)
