"""The template for Zabbix is whole and right by what its import asks, without a Zabbix."""

import json
import re

import pytest

from clusterwright.catalog.watch.alert import alerts
from clusterwright.catalog.watch.figure import figures, read
from clusterwright.provision.render.monitoring.zabbix import alert_key, template_alerts, uuid, zabbix_template

PAGES = "https://wiki.example.org/alerts"
KEY = r"[0-9a-zA-Z_.-]+(\[[^\[\]]*\])?"


@pytest.fixture(scope="module", params=["en", "zh"])
def template(request):
    """What a person imports, parsed."""
    whole = json.loads(zabbix_template(request.param, PAGES))["zabbix_export"]
    assert whole["version"] == "6.0"
    (found,) = whole["templates"]
    assert found["groups"] == [{"name": group["name"]} for group in whole["groups"]]
    return found


def triggers(template):
    """By name of item, its trigger."""
    return {item["key"]: trigger for item in template["items"] for trigger in item.get("triggers", [])}


def inside(value):
    """Every object in it."""
    if isinstance(value, dict):
        yield value
        value = value.values()
    if isinstance(value, list | type({}.values())):
        for one in value:
            yield from inside(one)


def test_every_alert_that_anybody_is_told_of_has_an_item_and_a_trigger(template):
    """And no other, but those of the site's own rules and of monitoring itself."""
    told = {alert_key(one.name) for one in alerts() if one.severity != "none"}
    others = {f"clusterwright.other[{level}]" for level in ("critical", "warning", "info")}

    assert set(triggers(template)) == told | others | {"clusterwright.alive"}
    assert len(told) >= 54


def test_severities_are_zabbixs_own(template):
    """A page is high, a ticket a warning, a note an information."""
    found = triggers(template)
    said = {"critical": "HIGH", "warning": "WARNING", "info": "INFO"}

    assert [found[alert_key(one.name)]["priority"] for one in template_alerts()] == [
        said[one.severity] for one in template_alerts()
    ]


def test_every_expression_asks_items_that_are_there(template):
    """Of this very template."""
    keys = {item["key"] for item in template["items"]}
    for trigger in triggers(template).values():
        text = trigger["expression"] + trigger.get("recovery_expression", "")
        asked = re.findall(rf"\(/Clusterwright/({KEY})[,)]", text)
        assert asked, text
        assert {key for key, _ in asked} <= keys


def test_uuids_are_of_version_4_each_its_own_and_the_same_for_ever(template):
    """Zabbix refuses any other, and takes what has the same for the same."""
    found = [one["uuid"] for one in inside(template) if "uuid" in one]

    assert all(re.fullmatch(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}", each) for each in found)
    assert len(set(found)) == len(found)
    assert uuid("item", "clusterwright.alert[NodeDown]") == "a8758085fa454e36a56d3799ba909af8"


def test_names_and_keys_are_unique_and_not_too_long(template):
    """255 letters of a name, 2048 of a key."""
    for kind in (template["items"], list(triggers(template).values()), template["discovery_rules"]):
        names = [one["name"] for one in kind]
        assert len(set(names)) == len(names)
        assert max(len(name) for name in names) <= 255
    assert all(re.fullmatch(KEY, item["key"]) for item in template["items"])


def test_nothing_of_prometheus_is_left_in_what_people_read(template):
    """Its templates would stand there as they are, and Zabbix's begin with braces too."""
    texts = [one[name] for one in inside(template) for name in ("name", "description") if name in one]

    assert not [text for text in texts if "$labels" in text or "$value" in text or "{{" in text]
    assert any("<node>" in text for text in texts)


def test_only_who_the_macro_names_may_send(template):
    """Each item and rule that takes values; at first that is nobody but Zabbix's own host."""
    takers = [one for one in inside(template) if one.get("type") == "TRAP"]

    assert {one["allowed_hosts"] for one in takers} == {"{$CLUSTERWRIGHT.SENDERS}"}
    assert [(one["macro"], one["value"]) for one in template["macros"]] == [
        ("{$CLUSTERWRIGHT.SENDERS}", "127.0.0.1")
    ]
    assert len(takers) > len(template_alerts())


def test_a_problem_is_closed_by_its_own_fingerprint(template):
    """So each host's is one of its own, in one item."""
    for key, one in triggers(template).items():
        if key != "clusterwright.alive":
            tags = {tag["tag"]: tag["value"] for tag in one["tags"]}
            assert one["type"] == "MULTIPLE"
            assert (one["correlation_mode"], one["correlation_tag"]) == ("TAG_VALUE", "fingerprint")
            assert {"fingerprint", "node", "incident"} <= set(tags)


def test_the_page_of_an_alert_is_the_one_that_prometheus_names(template):
    """A link where the site has the pages, in the language of the template."""
    url = triggers(template)["clusterwright.alert[GpuTooHot]"]["url"]

    assert re.fullmatch(rf"{PAGES}/gpu(\.zh-CN)?\.md#gputoohot", url)


def test_hosts_and_gpus_are_rows_with_their_figures(template):
    """Whether a host answers, and temperatures, at the least."""
    found = {
        rule["key"]: [one["key"] for one in rule["item_prototypes"]] for rule in template["discovery_rules"]
    }

    assert {"clusterwright.node.up[{#NODE}]", "clusterwright.node.temperature[{#NODE}]"} <= set(
        found["clusterwright.nodes"]
    )
    assert "clusterwright.gpu.temperature[{#NODE},{#GPU}]" in found["clusterwright.gpus"]
    assert sum(len(keys) for keys in found.values()) == len(figures())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[figure]]\nkey = "a"\n', "figures.toml"), ("", "figures.toml: 'figure'"),
        ('[[figure]]\nkey="a"\nof="rack"\nexpression="1"\nunit=""\nname="a"\n', "`rack` is none of"),
    ],
)  # fmt: skip
def test_a_figure_that_makes_no_sense_is_refused(text, said):
    """With the file's name."""
    with pytest.raises(ValueError, match=re.escape(said)):
        read(text)
