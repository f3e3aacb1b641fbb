"""Alerts as the picture has them."""

import pytest

from clusterwright.catalog.watch.alert import alerts as known
from clusterwright.i18n import bilingual
from clusterwright.monitor.gather.alerts import _BLANK, alerts, localized_summary


@pytest.mark.parametrize("one", known(), ids=lambda one: one.name)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_alert_of_ours_is_said_in_both_languages(one, language):
    """Whichever language Prometheus filled in; with the same labels and values in both."""
    number = iter(range(100))
    summaries = dict(zip(("en", "zh"), bilingual(one.text.summary), strict=True))
    filled = {blank: f"x{next(number)}" for blank in _BLANK.findall("".join(summaries.values()))}
    said = {of: _BLANK.sub(lambda blank: filled[blank[1]], summary) for of, summary in summaries.items()}

    assert localized_summary(one.name, said[language]) == (said["en"], said["zh"])


def test_the_worst_come_first_and_muted_ones_last():
    """What is on only to show that alerts arrive is left out; fields that are missing are no error."""
    said = [
        {"labels": {"alertname": "A", "severity": "critical", "node": "n1"}, "since": 5.0, "muted": True},
        {"labels": {"alertname": "B", "severity": "warning", "job": "12"}, "since": 4.0, "annotations": None},
        {"labels": {"alertname": "C", "severity": "critical"}, "since": 3.0, "annotations": {"summary": "c"}},
        {"labels": {"alertname": "Watchdog", "severity": "none"}, "since": 1.0}, {}, {"labels": None, "since": None},
    ]  # fmt: skip
    found = alerts(said)

    assert [(each.name, each.subject, each.summary) for each in found] == [
        ("C", "", "c"),
        ("B", "12", "B"),
        ("A", "n1", "A"),
    ]


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "NodeDown\0", "NoSuchAlert", "a" * 5000])
def test_a_name_of_a_strangers_is_not_looked_for_outside(name):
    """The summary stays as it was said."""
    assert localized_summary(name, "said") == ("said", "")
