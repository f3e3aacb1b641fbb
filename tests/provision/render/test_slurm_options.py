"""What the site writes under slurm.options."""

from clusterwright.provision.render.slurm_options import with_options

OURS = [
    "# A reason.\nKillWait=30\nMinJobAge=3600",
    "# Another.\nBatchStartTimeout=180",
    "# Words.\nSchedulerParameters=a=1,b",
]


def test_without_options_nothing_changes():
    """Our paragraphs as they are."""
    assert with_options(OURS, {}) == OURS


def test_a_value_stands_in_place_of_ours():
    """Whatever its case; a paragraph that has no key left goes with its reason."""
    assert with_options(OURS, {"batchstarttimeout": "240", "MinJobAge": "60"}) == [
        "# A reason.\nKillWait=30",
        "# Words.\nSchedulerParameters=a=1,b",
        "# The site's own (slurm.options).\nbatchstarttimeout=240\nMinJobAge=60",
    ]


def test_words_are_joined_and_the_sites_wins():
    """In the line that is there."""
    assert with_options(OURS, {"SchedulerParameters": "a=2,c"})[2] == (
        "# Words.\n# The site's own (slurm.options).\nSchedulerParameters=a=2,b,c"
    )


def test_words_without_a_line_of_ours_have_one():
    """A list that we do not write."""
    assert (
        with_options(OURS, {"DebugFlags": "backfill"})[-1]
        == "# The site's own (slurm.options).\nDebugFlags=backfill"
    )


def test_lists_of_several_parts_are_one_line():
    """Slurm takes the last of two lines alone; the reasons of both stay."""
    two = ["# One.\nSchedulerParameters=x", *OURS]

    assert with_options(two, {})[0] == "# One.\n# Words.\nSchedulerParameters=x,a=1,b"
    assert len(with_options(two, {})) == 3
