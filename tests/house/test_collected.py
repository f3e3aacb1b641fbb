"""Pytest collects every folder of tests."""

from fnmatch import fnmatch
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_folder_of_tests_is_looked_into(request):
    """No folder matches norecursedirs; pytest's default contains `build`, so that such a folder never ran."""
    left_out = request.config.getini("norecursedirs")
    folders = {
        parent for path in TESTS.rglob("test_*.py") for parent in path.parents if parent.is_relative_to(TESTS)
    }
    missed = [str(folder) for folder in folders if any(fnmatch(folder.name, part) for part in left_out)]

    assert missed == []
