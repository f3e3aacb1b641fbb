"""Pages of alerts, which `runbook_url` points at."""

import json

import pytest

from clusterwright.catalog.watch.alert import alerts
from clusterwright.provision.render.monitoring.pages import alert_pages
from clusterwright.provision.render.monitoring.rules import rules


@pytest.mark.parametrize(("language", "end"), [("en", ".md"), ("zh", ".zh-CN.md")])
def test_every_alert_points_at_its_place_on_a_page(language, end):
    """The file is there, and has a heading of its name."""
    pages = alert_pages()
    rows = [
        row for group in json.loads(rules(language))["groups"] for row in group["rules"] if "alert" in row
    ]

    assert len(rows) == len(alerts())
    for row in rows:
        page, _, place = (
            row["annotations"]["runbook_url"].removeprefix("docs/reference/alerts/").partition("#")
        )
        assert page.endswith(end)
        assert f"\n## {row['alert']}\n" in pages[page]
        assert place == row["alert"].lower()


def test_a_sites_own_address_of_the_pages_is_used():
    """With or without a stroke at its end."""
    told = json.loads(rules("en", "https://wiki.example.org/alerts/"))

    assert told["groups"][0]["rules"][-1]["annotations"]["runbook_url"].startswith(
        "https://wiki.example.org/alerts/m"
    )
