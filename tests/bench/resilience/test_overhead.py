"""What a step takes of the processors."""

from bench.resilience.overhead import since


def test_only_processes_that_lived_through_it_count():
    """With the threads that they began meanwhile; neither one that ended nor one that began is charged or credited."""
    before = {(1, "1"): 1_000_000_000, (1, "2"): 500_000_000, (2, "2"): 9_000_000_000}
    after = {(1, "1"): 3_000_000_000, (1, "3"): 250_000_000, (3, "3"): 9_000_000_000}

    assert since(before, after) == 2.25
