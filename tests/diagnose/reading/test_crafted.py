"""A log that somebody has crafted costs no more time than another one of its size."""

import itertools
import os
import shutil
import subprocess
import sys
import time

import pytest

from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import find_sources, of_bytes, read
from clusterwright.diagnose.reading.line import clean
from clusterwright.diagnose.reading.quoted import is_quoted
from clusterwright.diagnose.reading.read import ALL_S, SOURCE_S, OverBudgetError, TimeBudget

SHORT, LONG = 500, 8000  # characters of a line


def seconds(work, value):
    """The least of three runs, in processor time."""
    times = []
    for _ in range(3):
        begun = time.thread_time()
        work(value)
        times.append(time.thread_time() - begun)
    return min(times)


def growth(work, line):
    """How much more one line costs than its parts: about 1 if the work is linear, 16 if it is quadratic."""
    parts = LONG // SHORT
    return seconds(work, line(LONG)) / max(1e-9, parts * min(seconds(work, line(SHORT)) for _ in range(3)))


@pytest.mark.parametrize(
    "line",
    [
        lambda size: b"a" * (size // 2) + b"\x08" * (size // 2),
        lambda size: b"\x1b[" * (size // 2),
        lambda size: b"\x1b]" + b"a" * size,
        lambda size: b"\x1bP" * (size // 2),
    ],
    ids=["backspaces", "colors", "title", "strings"],
)
def test_cleaning_a_line_is_linear(line):
    """Backspaces once cost the square of the line."""
    assert growth(clean, line) < 4


@pytest.mark.parametrize(
    "line",
    [
        lambda size: "a" * size,
        lambda size: "a." * (size // 2),
        lambda size: "a.log" * (size // 5),
        lambda size: "if " + '"' * size,
        lambda size: " " * size + '"x',
        lambda size: "a = " * (size // 4) + " " * 200 + '"x"',
        lambda size: "raise a" * (size // 7),
    ],
    ids=["word", "dots", "logs", "quotes", "spaces", "assigned", "raise"],
)
def test_whether_a_line_quotes_is_linear(line):
    """A path of dots, and a run of quotes or spaces, once cost the square."""
    assert growth(lambda text: is_quoted(text, "x"), line) < 4


def test_a_source_whose_budget_is_used_up_is_named_with_its_line_and_others_are_read():
    """What was found before counts."""
    xid = b"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
    steps = iter([0.0, 0.0, *[0.0] * 3, *[SOURCE_S + 2] * 100_000])
    found = read(
        [of_bytes("crafted", xid * 400), of_bytes("other", xid)], knowledge(), TimeBudget(lambda: next(steps))
    )

    assert [place.source for place in found.cut_short] == ["crafted"]
    assert 1 <= found.cut_short[0].line < 10
    assert {sighting.position.source for sighting in found.sightings} == {"crafted", "other"}


def test_many_sources_share_one_budget():
    """Ten thousand files of which each stays below its own would take hours."""
    clock = iter(float(second) for second in range(100_000))
    sources = [of_bytes(str(number), b"CUDA out of memory\n") for number in range(200)]
    found = read(sources, knowledge(), TimeBudget(lambda: next(clock)))

    assert ALL_S / 10 < 200 - len(found.cut_short) < ALL_S


def test_a_stream_without_end_is_read_for_a_limited_time():
    """More bytes add no more time from a number of MiB on."""
    now = [0.0]
    budget = TimeBudget(lambda: now[0])
    budget.begin_source()
    budget.add(1 << 40)
    now[0] = 120.0

    with pytest.raises(OverBudgetError):
        budget.check()


def test_a_reader_may_have_less_time_than_others():
    """Self-healing polls no host while it reads the logs of a failed job."""
    ticks = (float(second) for second in itertools.count())
    sources = [of_bytes(str(number), b"CUDA out of memory\n") for number in range(200)]
    found = read(sources, knowledge(), TimeBudget(lambda: next(ticks), most_s=10.0))

    assert 190 < len(found.cut_short) < 200


@pytest.fixture
def run_why(tmp_path):
    """Return a function that runs `wright why` in bash, in `tmp_path`."""

    def why(command):
        line = f"{sys.executable} -m clusterwright why {command}"
        shell = ["bash", "-c", line]
        return subprocess.run(shell, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    return why


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "link to a device"])
def test_a_file_that_is_a_pipe_or_a_device_is_not_opened(tmp_path, suffix, kind):
    """Opening a pipe once waited for its writer without end; opening a device can have an effect."""
    if suffix == ".zst" and not shutil.which("zstd"):
        pytest.skip("zstd is not installed (apt-get install zstd)")
    path = tmp_path / f"a.log{suffix}"
    pipe = path if kind == "pipe" else tmp_path / "p"
    os.mkfifo(pipe)
    if kind != "pipe":
        path.symlink_to("/dev/zero" if kind.endswith("device") else pipe)
    script = (
        "import sys; from clusterwright.diagnose.reading import find_sources, read; "
        "from clusterwright.diagnose.knowledge import knowledge; "
        "print(read(find_sources(sys.argv[1:]), knowledge()).unread)"
    )
    command = [sys.executable, "-c", script, str(path)]

    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)

    assert f"('{path}', " in result.stdout
    assert "regular file" in result.stdout


def test_a_file_of_a_folder_that_becomes_a_pipe_is_not_opened(tmp_path):
    """The folder's owner can exchange it between the listing and the reading."""
    path = tmp_path / "a.log"
    path.write_text("step 1\n")
    (source,) = find_sources([str(tmp_path)])
    path.unlink()
    os.mkfifo(path)

    with pytest.raises(OSError, match="regular file"):
        source.open()


def test_a_pipe_of_the_shell_and_standard_input_are_read(run_why, tmp_path):
    """`<(command)` is a pipe at /dev/fd/N, which only the caller can have opened."""
    (tmp_path / "a.log").write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n")
    commands = (
        "<(cat a.log)",
        "- <a.log",
        "- < <(cat a.log)",
        "/dev/stdin <a.log",
        "/dev/fd/7 7< <(cat a.log)",
    )

    for command in commands:
        assert "out of memory" in run_why(command).stdout, command


def test_a_link_to_a_descriptor_is_no_pipe_of_the_shell(run_why, tmp_path):
    """A link in a support bundle could otherwise lead to the terminal or a socket of the reader."""
    (tmp_path / "a.log").symlink_to("/dev/fd/0")

    result = run_why("a.log < <(sleep 50)")

    assert (result.returncode, "cannot read a.log" in result.stderr) == (2, True)
