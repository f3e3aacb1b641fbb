"""Labs of tests stand side by side, so no two files may name the same network."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
NET = re.compile(r"\b10\.(1[89][0-9]|2[0-9]{2})\b")  # what labs of tests use; lower ones are examples


def test_no_two_files_of_lab_tests_use_the_same_net():
    """By the second number of its addresses: 10.N is one file's."""
    users: dict[str, set[str]] = {}
    for file in TESTS.rglob("test_*.py"):
        text = file.read_text()
        if "pytestmark" in text and "pytest.mark.lab" in text:
            for net in NET.findall(text):
                users.setdefault(net, set()).add(file.name)
    assert len(users) > 20
    assert {net: names for net, names in users.items() if len(names) > 1} == {}
