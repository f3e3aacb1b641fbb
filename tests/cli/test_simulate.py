"""`wright simulate`: what is replayed, what is refused, and what is shown."""

import json
from pathlib import Path

import pytest

from clusterwright.cli.simulate import TraceOptions, jobs_of, simulate
from clusterwright.errors import WrightError

FILE = Path(__file__).parents[2] / "bench" / "simulate.yaml"
HEAD = "JobID|Account|User|Submit|Elapsed|Timelimit|NNodes|NCPUS|ReqTRES"
LINE = "{0}|vision|u|2026-11-23T02:{0:02}:00|00:30:00|01:00:00|1|8|cpu=8,gres/gpu=4,node=1"


@pytest.fixture
def trace(tmp_path):
    """`trace(*lines)` is a file of these lines beneath a heading."""

    def make(*lines, head=HEAD):
        path = tmp_path / "trace.txt"
        path.write_text("\n".join([head, *lines]) + "\n")
        return path

    return make


def refused(**more):
    """The code and the words."""
    with pytest.raises(WrightError) as why:
        simulate(cluster=FILE, **more)
    assert why.value.exit_code == 2
    return why.value.findings[0].code, str(why.value)


def test_two_settings_side_by_side(trace, capsys):
    """Slurm's own against the file's: whole hosts, then single GPUs."""
    assert simulate(cluster=FILE, trace=trace(*(LINE.format(number) for number in range(20)))) == 0
    shown = capsys.readouterr().out

    assert "Slurm's defaults" in shown
    assert str(FILE) in shown
    assert "vision" in shown
    assert "jobs: 20, teams: 1" in shown


def test_json_has_all_figures(trace, capsys):
    """Seconds and ratios, with a schema; held is more than used where hosts are given whole."""
    simulate(cluster=FILE, trace=trace(*(LINE.format(number) for number in range(20))), json=True)
    found = json.loads(capsys.readouterr().out)
    default, ours = found["settings"]

    assert (found["schema"], found["trace"]["jobs"]) == (1, 20)
    assert default["held"] == pytest.approx(2 * default["used"])
    assert ours["held"] == ours["used"]


def test_today_s_settings_against_proposed_ones(trace, tmp_path, capsys):
    """With --against, the file itself is the first column."""
    other = tmp_path / "other.yaml"
    other.write_text(FILE.read_text().replace("default_time: 4h", "default_time: 4h, exclusive: true"))
    simulate(
        cluster=FILE, trace=trace(*(LINE.format(number) for number in range(40))), against=other, json=True
    )
    today, proposed = json.loads(capsys.readouterr().out)["settings"]

    assert [today["name"], proposed["name"]] == [str(FILE), str(other)]
    assert proposed["held"] > today["held"] - 1e-9
    assert proposed["waits"]["p90_s"] > today["waits"]["p90_s"]


def test_what_the_model_does_not_know_is_said(trace, tmp_path, capsys):
    """Reservations have no effect here; a team that nobody named has one share."""
    other = tmp_path / "other.yaml"
    kept = (
        'reservations:\n  course: {hosts: gpu1, start: "2027-04-12T10:00", duration: 2h, teams: [students]}\n'
    )
    other.write_text(FILE.read_text() + kept)
    simulate(cluster=other, trace=trace(LINE.format(1).replace("vision", "strangers")))
    shown = capsys.readouterr().out

    assert "not in the model, without effect here: reservations" in shown
    assert "does not have 1 team of the trace (strangers), which gets one share" in shown


def test_the_same_seed_makes_the_same_trace():
    """And another one another."""
    made = [jobs_of(FILE, None, TraceOptions(5, 2, 0.5, seed), skip_bad=False).jobs for seed in (1, 1, 2)]

    assert made[0] == made[1] != made[2]
    assert {job.team for job in made[0]} == {"vision", "language", "robotics", "biology", "students"}
    asked = sum(job.hosts * job.gpus * job.run_s for job in made[0])
    assert asked == pytest.approx(0.5 * 64 * 2 * 86400, rel=0.01)


def test_bad_lines_are_named_counted_and_left_out_only_if_told(trace, capsys):
    """A trace with holes would make a cluster look emptier than it is."""
    path = trace(LINE.format(1), "2|cut", LINE.format(3).replace("00:30:00", "soon"), *(["9|x"] * 50))
    code, words = refused(trace=path)

    assert code == "trace-bad-lines"
    assert (
        "52 lines are not jobs: line 3: 2 columns, but the heading has 9; line 4: `soon` is not a duration"
        in words
    )
    assert "51 x 2 columns" in words
    assert simulate(cluster=FILE, trace=path, skip_bad=True) == 0
    assert "skipped: 52 bad lines" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lines", "head", "code"),
    [
        ([], HEAD, "trace-empty"),
        ([LINE.format(1).replace("00:30:00", "00:00:00")], HEAD, "trace-empty"),
        (["1|a"], "JobID|Account", "trace-no-column"),
    ],
)
def test_what_is_no_trace_is_refused(trace, lines, head, code):
    """With the command that prints one."""
    found, words = refused(trace=trace(*lines, head=head))

    assert found == code
    assert "sacct -a -P -X" in words


def test_one_trace_and_a_file_that_is_there(tmp_path, trace):
    """Neither none nor two; a path that leads nowhere; figures that make no trace."""
    assert refused()[0] == "trace-which"
    assert refused(trace=trace(LINE.format(1)), teams=5)[0] == "trace-which"
    assert refused(trace=tmp_path / "nothing")[0] == "file-unreadable"
    assert refused(teams=9)[0] == "trace-wish"
    assert refused(teams=5, load=99)[0] == "trace-wish"


def test_bytes_that_are_no_text(tmp_path):
    """They are a bad line, and not a traceback; a terminal's cursor stays where it is."""
    path = tmp_path / "t"
    path.write_bytes(HEAD.encode() + b"\n\xff\xfe\x00\x1b[2J|x\n" + LINE.format(1).encode())

    assert "\x1b" not in refused(trace=path)[1]


def test_a_cluster_without_gpus(tmp_path):
    """Teams that are made up ask for GPUs."""
    plain = tmp_path / "cluster.yaml"
    plain.write_text("\n".join(row for row in FILE.read_text().splitlines() if "gpus:" not in row))
    with pytest.raises(WrightError) as why:
        simulate(cluster=plain, teams=5)

    assert why.value.findings[0].code == "trace-no-gpus"
