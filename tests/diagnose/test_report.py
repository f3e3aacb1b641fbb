"""The text of several diagnoses."""

from clusterwright.diagnose.diagnosis import Diagnosis, Evidence
from clusterwright.diagnose.report import format_report


def diagnosis(mode, confidence):
    """A root cause with one line of evidence."""
    line = Evidence("slurm-1.out", 1, "a line")
    return Diagnosis("shm", f"shm/{mode}", "root", "A cause.", {}, confidence, (line,), "A fix.", "fixed")


def test_less_likely_causes_have_one_heading():
    """An empty line separates them."""
    text = format_report([diagnosis("first", 0.8), diagnosis("second", 0.2), diagnosis("third", 0.1)])

    assert text.count("less likely:") == 1
    assert "\n\nless likely:\nshm  second  confidence 20%\n" in text
    assert "a line\n\nshm  third  confidence 10%\n" in text
