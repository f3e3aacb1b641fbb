"""sacct's text, of any release and any site."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.monitor.records.quantities import gpus, moment, resources, size, span
from clusterwright.monitor.records.sacct import Bad, NoColumnError, read

# Written by hand in the form of sacct 22.05.8 (-P); 23.11 adds columns, which are passed over.
HEAD = (
    "JobID|JobName|User|Account|Partition|QOS|State|Submit|Eligible|Start|End|Elapsed|Timelimit|NNodes|NCPUS|ReqTRES"
    "|NewIn26"
)
LINE = (
    "12|train|alice|language|train|normal|CANCELLED by 6001|2026-11-23T02:00:00|2026-11-23T02:00:00|"
    "2026-11-23T02:10:00|2026-11-24T03:10:01|1-01:00:01|2-00:00:00|2|16|billing=400,cpu=16,gres/gpu=4,mem=64G,node=2|x"
)


def one(line, head=HEAD):
    """The only record."""
    (found,) = read([head, line])
    return found


def test_a_job_is_read():
    """Who, when, how long, on how much."""
    job = one(LINE)

    assert (job.id, job.name, job.user, job.account, job.state) == (
        "12",
        "train",
        "alice",
        "language",
        "CANCELLED",
    )
    assert (job.gpus, job.cpus, job.host_count, job.memory) == (4, 16, 2, 64 << 30)
    assert (job.elapsed_s, job.limit_s, job.waited_s) == (90001, 172800, 600)


@pytest.mark.parametrize(
    ("change", "what", "value"),
    [
        (("1-01:00:01|2-00:00:00", "10:00|UNLIMITED"), "limit_s", None),
        (("1-01:00:01|2-00:00:00", "10:00|Partition_Limit"), "elapsed_s", 600),
        (("2026-11-24T03:10:01", "Unknown"), "end", None),
        (("2026-11-23T02:10:00", "None"), "waited_s", None),
        (("2026-11-23T02:00:00", "1795399200"), "submit", 1795399200),
        (("gres/gpu=4", "gres/gpu:a100=2,gres/gpu:h100=1"), "gpus", 3),
        (("2026-11-23T02:10:00", "2026-11-23T01:10:00"), "waited_s", 0),  # a clock that was set back
    ],
)
def test_forms_that_sites_have(change, what, value):
    """No limit, no end, SLURM_TIME_FORMAT=%s, types of GPUs, clocks."""
    assert getattr(one(LINE.replace(*change)), what) == value


def test_a_name_may_hold_the_mark():
    """What is too much belongs to the name."""
    assert one(LINE.replace("|train|alice", "|a|b|c|alice")).name == "a|b|c"


def test_a_line_ending_in_a_mark():
    """Of `sacct -p`, and lines of Windows."""
    assert [job.id for job in read([HEAD + "|\r\n", LINE + "|\r\n"])] == ["12"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("12|2026", "2 columns, but the heading has 17"),
        (LINE.replace("2026-11-23T02:00:00", "yesterday"), "`yesterday` is not a time"),
        (LINE.replace("2026-11-23T02:00:00", "2026-02-30T02:00:00"), "`2026-02-30` is not a date"),
        (LINE.replace("1-01:00:01", "soon"), "`soon` is not a duration"),
        (LINE.replace("12|train", "|train"), "the line of sacct has no JobID"),
        ("\x00\x1b[2J" * 9, "1 column, but the heading has 17"),
    ],
)
def test_what_is_no_job_is_named_by_its_line(line, reason):
    """The others are read all the same."""
    good, bad, also = read([HEAD, LINE, line, LINE])

    assert (good.id, also.id) == ("12", "12")
    assert bad == Bad(3, reason)


def test_a_heading_without_the_columns_is_refused():
    """With the names of those that are missing."""
    with pytest.raises(NoColumnError, match="Submit, Elapsed"):
        list(read(["JobID|User", "1|a"]))
    with pytest.raises(NoColumnError):
        list(read([]))


@given(st.lists(st.text(max_size=80), max_size=5))
def test_no_text_breaks_the_reader(lines):
    """Whatever a file holds, each line is a job or a bad one."""
    found = list(read([HEAD, *(line.replace("\n", " ") for line in lines)]))

    assert len(found) == sum(bool(line.replace("\n", " ").rstrip("\r\n").strip()) for line in lines)


@given(st.integers(0, 99), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_spans_are_what_slurm_wrote(days, hours, minutes, seconds):
    """D-HH:MM:SS."""
    assert (
        span(f"{days}-{hours:02}:{minutes:02}:{seconds:02}")
        == ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    )


def test_sizes_and_resources():
    """Older releases end a size in n (each host) or c (each CPU)."""
    assert [size(text) for text in ("4000Mn", "1.50G", "0", "16?")] == [4000 << 20, 3 << 29, 0, None]
    assert resources("cpu=8,gres/gpu:a100=4") == {"cpu": "8", "gres/gpu:a100": "4"}
    assert gpus("cpu=8") == 0
    assert moment("") is None
