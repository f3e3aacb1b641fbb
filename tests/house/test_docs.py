"""Documents point at things that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_local_link_leads_somewhere(page):
    """A moved file takes its links along; what stands between backticks is no link."""
    text = re.sub(r"(`+).+?\1", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_every_test_named_in_the_coverage_table_exists():
    """docs/coverage.md claims only what is there."""
    table = (ROOT / "docs" / "coverage.md").read_text()

    named = re.findall(r"`(tests/[^`]+)`", table)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
