"""A short campaign on real hosts: planted, found, explained, fixed, and its page written."""

import json
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.cli.lab import run_campaign
from clusterwright.i18n import bilingual
from clusterwright.lab.chaos.kind import kinds

pytestmark = [pytest.mark.lab, pytest.mark.core, pytest.mark.train, pytest.mark.timeout(1200)]
EXAMPLE = Path(__file__).parents[3] / "examples" / "campaign" / "cluster.yaml"
NAME, NET = "test-campaign", "10.217."
KINDS = ("rank-killed", "gpu-lost", "user-exception")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """What is written of one fault of each kind, on four hosts."""
    folder = tmp_path_factory.mktemp("campaign")
    text = EXAMPLE.read_text()
    text = text.replace("10.78.", NET).replace("name: campaign", f"name: {NAME}").replace("[1-8]", "[1-4]")
    (folder / "cluster.yaml").write_text(text)
    try:
        run_campaign(folder / "cluster.yaml", seed=1, faults=len(KINDS), only=KINDS, out=folder)
        yield folder
    finally:
        assert lab.down(NAME) == []


def test_each_fault_becomes_what_it_should(report):
    """Noticed, explained, answered; nothing lost, nobody harmed."""
    found = json.loads((report / "campaign.json").read_text())
    assert {each["kind"] for each in found["each"]} == set(KINDS)
    judged = ("detected", "cause", "action", "finished", "exact", "unharmed")
    wrong = [(each["kind"], name, each) for each in found["each"] for name in judged if each[name] is False]
    assert wrong == [], (report / "heal.log").read_text()


def test_the_page_shows_every_fault_by_name(report):
    """In both languages."""
    page = (report / "campaign.html").read_text()
    assert all(text in page for name in KINDS for text in bilingual(kinds()[name].about))
    assert "class='missed'" not in page
