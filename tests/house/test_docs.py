"""Links and test names in the documentation exist."""

import re
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("page", ["coverage.md", "security.md"])
def test_every_test_named_on_a_page_exists(page):
    """Each file of tests that the page names exists, and has the named function."""
    named = re.findall(r"`(tests/[^`:]+)(?:::([^`]+))?`", (ROOT / "docs" / page).read_text())

    assert named
    for path, function in named:
        assert (ROOT / path).exists(), path
        assert not function or f"def {function}(" in (ROOT / path).read_text(), f"{path}::{function}"
