"""Dashboards as Grafana reads them."""

import json
import re
from collections.abc import Mapping
from itertools import combinations

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import Dashboard

from clusterwright.provision.render.monitoring.dashboards import dashboard_files

FILES = {name: json.loads(text) for name, text in dashboard_files().items()}
UNITS = {value for name, value in vars(units).items() if not name.startswith("_")}
pages = pytest.mark.parametrize("page", FILES.values(), ids=FILES)

register_default_plugins()


def lost(given, kept, place=""):
    """Where what Grafana's own models give back is not what they were given."""
    if isinstance(given, Mapping) and isinstance(kept, Mapping):
        for key, value in given.items():
            if value is not None:
                yield from lost(value, kept.get(key), f"{place}/{key}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for number, (one, other) in enumerate(zip(given, kept, strict=True)):
            yield from lost(one, other, f"{place}/{number}")
    elif given != kept:
        yield f"{place}: {given!r} became {kept!r}"


@pages
def test_grafanas_own_schema_knows_every_word(page):
    """Read by the models that Grafana makes of its schema and written again, nothing is gone or another."""
    assert list(lost(page, json.loads(JSONEncoder().encode(Dashboard.from_json(page))))) == []


def test_the_comparison_sees_a_word_that_grafana_does_not_know():
    """A key that no schema has, at any depth."""
    page = json.loads(json.dumps(next(iter(FILES.values()))))
    page["panels"][0]["fieldConfig"]["defaults"]["unitt"] = "s"
    kept = json.loads(JSONEncoder().encode(Dashboard.from_json(page)))
    assert list(lost(page, kept)) == ["/panels/0/fieldConfig/defaults/unitt: 's' became None"]


@pages
def test_an_import_makes_the_same_dashboard_anywhere(page):
    """A fixed uid that Grafana takes, no number of another Grafana, no Prometheus by name."""
    assert page["id"] is None
    assert re.fullmatch(r"clusterwright-[a-z]+", page["uid"])
    assert len(page["uid"]) <= 40
    sources = list(values(page, "datasource"))
    assert len(sources) > len(page["panels"])
    assert {source["uid"] for source in sources} == {"${datasource}"}


def values(within, key):
    """What the key has, wherever it is."""
    inner = within.values() if isinstance(within, dict) else within if isinstance(within, list) else ()
    if isinstance(within, dict) and key in within:
        yield within[key]
    for each in inner:
        yield from values(each, key)


@pages
def test_every_question_is_of_the_cluster_that_was_chosen(page):
    """Lines that show where alerts began as well; only the choice of the cluster itself is of all."""
    asked = [
        *values(page, "expr"),
        *(one["query"] for one in values(page["templating"], "query") if "query" in one),
    ]
    assert len(asked) > len(page["panels"])
    assert [text for text in asked if '"$cluster"' not in text] == ["label_values(up, cluster)"]


@pages
def test_panels_stand_side_by_side(page):
    """Each within the page's width, with a number of its own, over no other."""
    places = [panel["gridPos"] for panel in page["panels"]]
    assert len({panel["id"] for panel in page["panels"]}) == len(places)
    assert all(place["x"] + place["w"] <= 24 for place in places)
    assert not [pair for pair in combinations(places, 2) if over(*pair)]


def over(one, other):
    """True where two rectangles share a field."""
    beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not (beside or above)


@pages
def test_units_are_grafanas(page):
    """A unit that Grafana does not know is shown as a word behind each number."""
    used = {panel["fieldConfig"]["defaults"]["unit"] for panel in page["panels"] if panel["type"] != "row"}
    assert used <= UNITS


@pages
def test_colours_rise_with_the_value_or_against_it(page):
    """The first colour has no lower end, marks are in order."""
    for panel in page["panels"]:
        steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
        marks = [step["value"] for step in steps]
        assert marks[0] is None
        assert marks[1:] == sorted(marks[1:])
        assert len({step["color"] for step in steps}) == len(steps)
