"""Times and addresses in every form in which they are written."""

import pytest
from tests.check.kernel.log_texts import read

from clusterwright.check.kernel.lines import pci


@pytest.mark.parametrize(
    ("line", "time_s", "priority", "text"),
    [
        ("[    4.250000] NVRM: x", 1004.25, None, "NVRM: x"),
        ("<4>[    4.250000] NVRM: x", 1004.25, 4, "NVRM: x"),
        ("<12>[    4.250000] NVRM: x", 1004.25, 4, "NVRM: x"),
        ("[Fri Aug 30 11:11:22 2024] NVRM: x", 1725016282, None, "NVRM: x"),
        ("2024-08-30T11:11:22,500000+00:00 NVRM: x", 1725016282, None, "NVRM: x"),
        ("2024-08-30T13:11:22+02:00 node1 kernel: NVRM: x", 1725016282, None, "NVRM: x"),
        ("2024-08-30 11:11:22 NVRM: x", 1725016282, None, "NVRM: x"),
        ("Aug 30 11:11:22 node1 kernel: NVRM: x", 1725016282, None, "NVRM: x"),
        ("Aug 30 11:11:22 node1 kernel: [ 4.250000] NVRM: x", 1725016282, None, "NVRM: x"),
        ("1725016282.250000 node1 kernel: NVRM: x", 1725016282.25, None, "NVRM: x"),
        ("NVRM: x", 1000, None, "NVRM: x"),
        ("[Fr Aug 30 11:11:22 2024] NVRM: x", 1000, None, "[Fr Aug 30 11:11:22 2024] NVRM: x"),
        ("[ven. août 30 11:11:22 2024] NVRM: x", 1000, None, "[ven. août 30 11:11:22 2024] NVRM: x"),
        ("[Fri Foo 30 11:11:22 2024] NVRM: x", 1000, None, "NVRM: x"),
    ],
)
def test_a_line_is_read_in_whatever_form(line, time_s, priority, text):
    """A date in a language that is not ours leaves the time open, not the words."""
    (found,) = read(line, boot_s=1000, year=2024)

    assert (found.time_s, found.priority, found.text) == (time_s, priority, text)


def test_a_line_without_a_time_has_that_of_the_one_before():
    """Traces go on over many lines."""
    found = read("[    4.0] first\n further\n\n[    5.0] second\n")

    assert [(each.time_s, each.text) for each in found] == [(4, "first"), (4, "further"), (5, "second")]


@pytest.mark.parametrize(
    ("words", "one"),
    [
        ("PCI:0000:3B:00", "0000:3b:00"),
        ("0000:3b:00.0", "0000:3b:00"),
        ("00000000:3B:00.0", "0000:3b:00"),
        ("3b:00.0", "0000:3b:00"),
        ("00010000:3B:00.0", "10000:3b:00"),
        ("GPU-1234", ""),
        ("", ""),
    ],
)
def test_an_address_has_one_form(words, one):
    """NVIDIA's tools write eight digits of the domain, the kernel four."""
    assert pci(words) == one
