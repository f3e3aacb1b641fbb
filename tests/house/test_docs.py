"""Links and test names in the documentation exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_every_local_link_leads_somewhere():
    """Each local link leads to an existing file; text in backticks is not a link."""
    lost = []
    for page in PAGES:
        text = re.sub(r"(`+).+?\1", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            outside = "://" in target or target.startswith("mailto:")
            if not outside and not (page.parent / target).exists():
                lost.append(f"{page.relative_to(ROOT)}: {target}")

    assert len(PAGES) > 50
    assert lost == []


def test_every_test_named_in_the_coverage_table_exists():
    """Each test that docs/coverage.md names exists."""
    table = (ROOT / "docs" / "coverage.md").read_text()

    named = re.findall(r"`(tests/[^`]+)`", table)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
