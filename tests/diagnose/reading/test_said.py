"""Who says a line, and when, as far as the line tells."""

import pytest

from clusterwright.diagnose.reading.line import Moment, clean, moment, split_prefix

AT = 1767322985.0  # 2026-01-02 03:03:05 UTC


@pytest.mark.parametrize(
    ("line", "rank", "host", "body"),
    [
        ("[rank3]: boom", "3", "", "boom"),
        ("[rank 12] boom", "12", "", "boom"),
        ("[default3]:[rank7]: boom", "7", "", "boom"),
        ("12: boom", "12", "", "boom"),
        ("  3: [rank3]: boom", "3", "", "boom"),
        ("[0]: boom", "0", "", "boom"),
        ("node12: boom", "", "node12", "boom"),
        ("gpu-a07.cluster.example: 3: boom", "3", "gpu-a07.cluster.example", "boom"),
        ("[gpu07:5] boom", "5", "gpu07", "boom"),
        ("[1,7]<stderr>:boom", "7", "", "boom"),
        ("(Worker pid=812, ip=10.0.0.7) boom", "", "10.0.0.7", "boom"),
        ("node-a:703:990 [3] NCCL WARN boom", "", "node-a", "node-a:703:990 [3] NCCL WARN boom"),
        ("Jan  2 03:04:05 gpu07 kernel: boom", "", "gpu07", "Jan  2 03:04:05 gpu07 kernel: boom"),
        ("[Rank 7] Watchdog caught", "7", "", "Watchdog caught"),
    ],
)
def test_ranks_and_hosts_are_read_from_what_launchers_write(line, rank, host, body):
    """And taken off, so that what is left is what the program said."""
    assert split_prefix(line) == (rank, host, body)


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: boom",
        "torch.OutOfMemoryError: boom",
        "srun: error: boom",
        "mlx5_0: boom",
        "nvme0: boom",
        "eth0: boom",
        "[node1:28812] *** Process received signal ***",
    ],
)
def test_a_word_before_a_colon_is_not_always_a_host(line):
    """An exception, a program, a device; a process's number is no rank."""
    assert split_prefix(line) == ("", "", line)


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("2026-01-02T03:03:05Z boom", Moment(AT, "utc")),
        ("2026-01-02T11:03:05.500+08:00 boom", Moment(AT + 0.5, "utc")),
        ("2026-01-01 21:33:05,250 -0530 boom", Moment(AT + 0.25, "utc")),
        ("[2026-01-02T03:03:05.000] error: boom", Moment(AT, "local")),
        ("2026/01/02 03:03:05 boom", Moment(AT, "local")),
        ("Jan  2 03:03:05 node1 x: boom", Moment(AT, "local")),
        ("[Fri Jan  2 03:03:05 2026] boom", Moment(AT, "local")),
        ("[rank0]:[E102 03:03:05.500000000 Process.cpp:12] boom", None),
        ("E0102 03:03:05.500000 812 x.cc:12] boom", Moment(AT + 0.5, "local")),
        ("[  812.250000] boom", Moment(812.25, "boot")),
        ("[1767322985.000000] [node1:812:0] boom", Moment(AT, "utc")),
        ("2026-13-41T03:03:05Z boom", None),
        ("step 12 loss 2.3", None),
    ],
)
def test_stamps_of_all_kinds_are_read(line, at):
    """ISO in any zone, syslog, the kernel's two, glog's, UCX's; a stamp that is no time is none."""
    assert moment(line, 2026) == at


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m", "red"),
        (b"\x1b]8;;file:///etc/passwd\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]0;no end", ""),
        (b"a\x08ab\x08b", "ab"),
        ("\u9519\u8bef\uff1a\u663e\u5b58\u4e0d\u8db3".encode(), "\u9519\u8bef\uff1a\u663e\u5b58\u4e0d\u8db3"),
        (b"\xff\xfe\x00bad", "\ufffd\ufffdbad"),
        ("\u202edlrow\u200b \x9b31mx".encode(), "dlrow x"),
        (b"a\tb", "a\tb"),
    ],
)
def test_a_line_is_cleaned_of_all_that_could_act(raw, text):
    """Colours, links, titles, what was struck over, directions of writing; words of any language stay."""
    assert clean(raw) == text
