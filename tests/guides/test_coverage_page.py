"""docs/coverage.md claims what tests of docs/coverage.toml prove, and no more."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ON_HOSTS = re.compile(r"\b(hosts of a lab|on a lab|in a lab)\b")
MOST_FOLDERS = 49  # tests named by their folder alone; only lower it


@pytest.fixture(scope="module")
def pages(load_tool):
    """Return tools/coverage-pages as a module."""
    return load_tool("coverage-pages")


@pytest.fixture(scope="module")
def parts(pages):
    """Return the id of the row and the part, for every part."""
    return [(row["id"], part) for row in pages.coverage_rows() for part in row["parts"]]


def test_the_page_is_current(pages):
    """docs/coverage.md is what its data and the markers of the tests say."""
    assert "docs/coverage.md" not in pages.outdated(), "run tools/coverage-pages"


def test_every_row_has_parts_of_a_kind(pages, parts):
    """Ids are unique, and every part has a kind and at least one test."""
    ids = [row["id"] for row in pages.coverage_rows()]

    assert len(set(ids)) == len(ids) > 35
    assert [name for name, part in parts if part["kind"] not in {"real", "emulated", "rendered"}] == []
    assert [name for name, part in parts if not part["tests"]] == []


def test_a_named_test_is_collected(parts, tests_by_path):
    """Pytest collects every named file and function; every folder has tests, every file of cases lies beside some."""
    named = {test for _name, part in parts for test in part["tests"]}
    files = {test for test in named if ".py" in test}
    others = named - files
    collected = tests_by_path(files)

    assert [test for test in sorted(files) if not collected[test]] == []
    assert [test for test in sorted(others) if not has_tests(ROOT / test)] == []
    assert len(others) <= MOST_FOLDERS


def has_tests(path):
    """Return whether a folder has a test, or a file of cases lies in a folder of tests that reads it."""
    folder = path if path.is_dir() else path.parent
    texts = [file.read_text() for file in folder.rglob("test_*.py")]
    return any("def test_" in text for text in texts) and path.exists()


def test_a_part_about_hosts_names_a_test_on_a_lab(parts, pages):
    """What is said of the hosts of a lab, a test with the marker `lab` does."""
    claims = [(name, part) for name, part in parts if ON_HOSTS.search(part["text"])]

    assert len(claims) > 15
    assert [
        name for name, part in claims if not any("lab" in pages.markers(test) for test in part["tests"])
    ] == []


def test_a_rendered_part_needs_no_hosts(parts, pages):
    """A part whose every test runs on a lab is more than rendered."""
    rendered = [(name, part) for name, part in parts if part["kind"] == "rendered"]

    assert [
        name for name, part in rendered if all("lab" in pages.markers(test) for test in part["tests"])
    ] == []
