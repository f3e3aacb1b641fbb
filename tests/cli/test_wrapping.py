"""Texts of commands on terminals of 40 and 80 columns: wrapped at words, with a hanging indent; unchanged in a pipe."""

import io
import os
import pty
import re
import signal
import struct
import sys
import termios
from fcntl import ioctl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from clusterwright.cli import main
from clusterwright.cli._wrapping import command_text, wrap_for_terminal, wrap_text
from clusterwright.monitor.report import text
from clusterwright.monitor.report.report import Report, ReportBar, ReportPart

EXAMPLE = Path(__file__).parents[2] / "examples/lab/cluster.yaml"
LOG = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.10 GiB \
of which 10.75 MiB is free. Process 12 has 79.08 GiB memory in use.
"""
RUN = "t-20261127-101010"
SHORT = (
    "", "guide --help", "validate wrong.yaml", "validate cluster.yaml", "why fail.log", "why --all fail.log",
    "status nothing",
    f"status {RUN}", f"report job {RUN}", "jobs", "apply --dry-run", "top --batch",
    "plan cost --gpu h100-sxm-80gb --nodes 2",
    "plan power --gpu h100-sxm-80gb", "explain shm/full", "explain nodes.gpus.count", "diff other.yaml", "statuss",
    "bench list", "train --help", "--lang zh plan cost --gpu h100-sxm-80gb --nodes 2", "--lang zh why fail.log",
    "--lang zh validate wrong.yaml", "--lang zh statuss",
)  # fmt: skip
LONG = (
    "add-hosts a100 gpu-node5 --dry-run", "bench compare 1 2", "cancel r", "check", "checkpoints list x",
    "checkpoints verify files", "curves r", "dev list", "diff", "explain gres", "explain nodes",
    "explain gres-mismatch", "export --out out", "heal --plan", "heal list", "init --out new.yaml",
    "kubernetes --out out2", "lab list", "lab campaign --only x", "lab fault kill-host gpu-node1",
    "lint slurm.conf --slurm 25.11", "lint bad.conf --slurm 25.11", "logs r", "plan catalog gpus h100-sxm-80gb",
    "plan catalog models", "plan claims", "plan expect", "plan fabric --nodes 4 --model llama3-8b",
    "plan explain --model llama3-8b --seq 4096 --global-batch 128 --micro-batch 1 --gpu h100-sxm-80gb --gpus 8",
    "plan gradients --parameters 25e6 --step 0.25 --hosts 2 --rate 25Gbit/s", "plan predict table.csv",
    "plan search --model llama3-8b --seq 4096 --global-batch 64 --gpu h100-sxm-80gb --gpus 8 --top 3",
    "plan size --model llama3-8b --gpu h100-sxm-80gb --gpus 8 --tokens 1e9",
    "plan storage --dataset 1TB --samples-per-s 1000", "plugins", "remove-hosts gpu-node4 --dry-run",
    "render --out out3", "report cluster", "rollback --dry-run", "simulate --teams 2 --days 1", "state recover",
    "tune training job.yaml", "upgrade --slurm 26.05 --dry-run", "web --help", "mcp --help",
    "--lang zh plan size --model llama3-8b --gpu h100-sxm-80gb --gpus 8 --tokens 1e9",
    "--lang zh explain shm/full", "--lang zh", "--lang zh check --help",
)  # fmt: skip
CONTROL = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
YAML = re.compile(r"# llama3-8b, ")  # the comment of a fragment to copy


@pytest.fixture
def folder(tmp_path):
    """A cluster file of a lab that does not exist, other inputs, a run of this machine, and an ssh that refuses."""
    files = tmp_path / "files"
    run = files / "runs" / RUN
    run.mkdir(parents=True)
    good = EXAMPLE.read_text().replace("name: lab", "name: narrow", 1)
    for name, content in (
        ("cluster.yaml", good),
        ("other.yaml", good.replace("count: 2", "count: 3")),
        ("wrong.yaml", good.replace("gpus_per_node: 1", "gpus_per_node: 9").replace("name:", "nmae:", 1)),
        ("job.yaml", "name: t\ncommand: [train.py]\nnodes: 1\ntime: 10m\n"),
        ("slurm.conf", "ClusterName=x\nFastSchedule=1\nControlMachine=a\n"),
        ("bad.conf", ""),
        ("table.csv", "a,b\n1,2\n"),
        ("train.py", ""),
        ("fail.log", LOG),
        (f"runs/{RUN}/job.json", '{"local": true}'),
        ("ssh", "#!/bin/sh\necho 'ssh: connect to host x port 22: Connection refused' >&2; exit 255\n"),
    ):
        (files / name).write_text(content)
    (tmp_path / "bin").mkdir()
    (files / "ssh").rename(tmp_path / "bin" / "ssh")
    (tmp_path / "bin" / "ssh").chmod(0o755)
    return tmp_path


def on_terminal(folder, columns, words):
    """Return the lines that a terminal of this width shows; the command is a fork of this process."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    pid = os.fork()
    if not pid:
        _child(folder, theirs, words)
    os.close(theirs)
    output = b""
    while piece := _read(ours):
        output += piece
    os.close(ours)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    shown = output.decode(errors="replace").replace("\r\n", "\n")
    assert 0 <= code < 97, shown
    assert "Traceback (most recent call last):\n" not in shown.replace(LOG.split("\n", 1)[0], "")
    return [CONTROL.sub("", line.rpartition("\r\x1b[J")[2]) for line in shown.split("\n")]


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the command has ended
        return b""


def _child(folder, terminal, words):
    code = 97
    try:
        os.chdir(folder / "files")
        for name in ("CLUSTERWRIGHT_CLUSTER", "COLUMNS", "LINES", "LANG", "LC_MESSAGES"):
            os.environ.pop(name, None)
        os.environ.update(
            HOME=str(folder), XDG_STATE_HOME=str(folder / "state"), PATH=f"{folder}/bin:/usr/bin:/bin",
            TERM="xterm", LC_ALL="C.UTF-8", NO_COLOR="1",
        )  # fmt: skip
        for number in range(3):
            os.dup2(terminal, number)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, "w" if number else "r", closefd=False) for number in range(3)
        )
        signal.alarm(100)
        sys.argv = ["wright", *words]
        main()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 0
    finally:
        try:
            sys.stderr.flush()
            sys.stdout.flush()
        finally:
            os._exit(code)


def too_long(lines, columns):
    """The lines that are wider than the terminal, but for those of one word and those with a command to copy."""
    return [
        line
        for line in lines
        if cell_len(line) > columns
        and " " in line.strip()
        and not line.strip().startswith("wright ")
        and not YAML.match(line)
    ]


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("line", [*SHORT, *(pytest.param(line, marks=pytest.mark.long) for line in LONG)])
def test_no_line_is_wider_than_the_terminal(line, columns, folder):
    """But for paths, addresses and commands, which are copied."""
    lines = on_terminal(folder, columns, line.split())

    assert too_long(lines, columns) == []
    assert "".join(lines).strip()


@pytest.mark.parametrize("columns", [40, 80])
def test_words_are_whole(columns, folder):
    """The words of a narrow terminal are those of a wide one."""
    for line in ("why --all fail.log", "validate wrong.yaml", "statuss", "jobs"):
        wide = " ".join(on_terminal(folder, 500, line.split())).split()
        narrow = " ".join(on_terminal(folder, columns, line.split())).split()
        texts = {word for word in narrow if word.isalpha()}

        assert texts <= {part for word in wide for part in (word, *re.split(r"\W", word))}


@given(
    st.lists(st.text("abc`:-|(/ 中文、。《", max_size=12), max_size=20).map(" ".join), st.integers(20, 100)
)
def test_wrapping_loses_nothing(line, width):
    """The text without its blanks is the same, and only a single word is wider than the terminal."""
    wrapped = wrap_text(line, width).split("\n")

    assert "".join("".join(wrapped).split()) == "".join(line.split())
    if not line.startswith("|"):
        assert all(
            cell_len(part.strip()) == cell_len(part.strip().split(" ")[0]) or cell_len(part) <= width
            for part in wrapped
        )


def test_lines_hang_below_their_text():
    """After a bullet, a number, a label or the name of a row."""
    words = "one two three four five six seven eight nine ten"

    assert wrap_text(f"- {words}", 24).split("\n")[1].startswith("  five")
    assert wrap_text(f"3. {words}", 24).split("\n")[1].startswith("   five")
    assert wrap_text(f"note: {words}", 24).split("\n")[1].startswith("  five")
    assert wrap_text(f"  fix       {words}", 30).split("\n")[1].startswith(" " * 12 + "five")
    assert wrap_text(f"    {words}", 24).split("\n")[1].startswith("    f")
    assert wrap_text(words, 24).split("\n")[1].startswith("s")


def test_chinese_wraps_between_characters():
    """No line begins with a comma or ends with an opening bracket."""
    wrapped = wrap_text("主机不可达、请检查网络《或防火墙》。" * 4, 26).split("\n")

    assert all(cell_len(line) <= 26 for line in wrapped)
    assert not any(line.strip()[0] in "、。》" or line[-1] == "《" for line in wrapped)


def test_commands_code_and_tables_remain():
    """They are copied."""
    command = "wright apply --cluster site/cluster.yaml"
    page = f"```yaml\nname: {'x ' * 30}\n```\n| a | {'b ' * 30} |"

    assert wrap_text(page, 30) == page
    assert f"`{command}`" in wrap_text(f"to apply the file, run `{command}` again", 44)
    assert command in wrap_text(command_text(f"{command} {command}"), 44).replace("\u00a0", " ")


def test_the_caret_of_an_excerpt_stays_below_its_column():
    """The source line is cut around it."""
    source = "    31 | " + "a" * 50 + "X" + "b" * 40
    caret = "       | " + " " * 50 + "^"
    shown, below = wrap_text(f"{source}\n{caret}", 40).split("\n")

    assert len(shown) <= 40
    assert shown[below.index("^")] == "X"


def test_a_pipe_gets_whole_lines():
    """Programs read lines."""
    assert wrap_for_terminal("word " * 50, io.StringIO()) == "word " * 50
    assert wrap_for_terminal(command_text("wright jobs"), io.StringIO()) == "wright jobs"


def test_a_report_fits():
    """Bars shrink; rows of a table that is too wide become a line for each cell."""
    part = ReportPart(
        "Use",
        bars=(ReportBar("CPU use", 0.5, "2 of 4 cores"), ReportBar("GPU use", None, "")),
        heads=("team", "GPU hours", "waiting time (median)", "cost"),
        rows=(("vision", "1,234", "12 min", "3,000 USD"),),
    )
    report = Report(("Report", "报告"), parts=(part,), notes=("a note " * 12,))

    assert max(map(len, text.text(report, 40).split("\n"))) <= 40
    assert "    waiting time (median): 12 min" in text.text(report, 40)
    assert text.text(report, 80) == text.text(report)
