"""Labs of tests run in parallel, so no two test files may use the same network."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
NET = re.compile(r"\b10\.(1[89][0-9]|2[0-9]{2})\b")  # networks of test labs; lower ones are in examples


def test_no_two_files_of_lab_tests_use_the_same_net():
    """Each network 10.N belongs to one file."""
    users: dict[str, set[str]] = {}
    for file in TESTS.rglob("test_*.py"):
        text = file.read_text()
        if "pytestmark" in text and "pytest.mark.lab" in text:
            for net in NET.findall(text):
                users.setdefault(net, set()).add(file.name)
    assert len(users) > 20
    assert {net: names for net, names in users.items() if len(names) > 1} == {}
