"""The logs of a run, merged by what is sent to the control host."""

import time
import tracemalloc

import pytest

from clusterwright.onhost.runs import run_logs


def test_logs_of_an_ended_run_end_with_its_outcome(runs, done_far):
    """Every line has its host and rank; the job's own lines are [job]."""
    run = runs / "old-20261120-100000"
    (run / "logs/1/gpu-node1/r_x/attempt_0/0/stdout.log").write_text("hello\nworld\n")
    (run / "slurm-7.out").write_text("job 7\n")
    code, out, _ = done_far("logs", runs, "7", "live")

    assert code == 4
    assert sorted(out.splitlines()) == ["[gpu-node1:0] hello", "[gpu-node1:0] world", "[job] job 7"]


def test_live_logs_go_on_through_generations_until_the_end(runs, start_far):
    """A second generation on another host is shown by the same command; half a line is not shown."""
    run = runs / "new-20261121-100000"
    (run / "logs/1/gpu-node1/r_x/attempt_0/0/stdout.log").write_text("one\nha")
    process = start_far("logs", runs, "last", "live")
    assert process.stdout.readline() == b"[gpu-node1:0] one\n"

    second = run / "logs/2/gpu-node4/r_y/attempt_0/1"
    second.mkdir(parents=True)
    (second / "stderr.log").write_text("two\n")
    assert process.stdout.readline() == b"[gpu-node4:1] two\n"

    (run / "ended.json").write_text('{"outcome": "finished", "code": 0}')
    assert process.communicate(timeout=150)[0] == b""
    assert process.returncode == 0


def test_a_reader_that_hangs_up_ends_the_follower(runs, start_far):
    """No process stays behind on the control host when ssh is interrupted."""
    (runs / "new-20261121-100000" / "slurm-8.out").write_text("job 8\n")
    process = start_far("logs", runs, "last", "live")
    assert process.stdout.readline() == b"[job] job 8\n"
    process.stdout.close()
    process.stderr.close()

    end = time.monotonic() + 150
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert process.poll() is not None


def test_logs_of_both_launchers_are_found(runs, done_far):
    """Our own ranks write LOCAL_RANK.out and .err, torchrun's in folders of its own."""
    run = runs / "old-20261120-100000"
    (run / "logs/1/gpu-node1/3.out").write_text("out\n")
    (run / "logs/1/gpu-node1/3.err").write_text("err\n")
    (run / "logs/1/gpu-node1/3.stacks").write_text("stacks\n")
    (run / "logs/1/gpu-node1/r_x/attempt_0/0/stdout.log").write_text("torchrun\n")
    _, out, _ = done_far("logs", runs, "7", "once")

    assert sorted(out.splitlines()) == ["[gpu-node1:0] torchrun", "[gpu-node1:3] err", "[gpu-node1:3] out"]


def test_the_ledger_comes_before_the_end(runs, start_far):
    """The supervisor prints it after it has said how the run ended: whoever follows sees it."""
    run = runs / "new-20261121-100000"
    process = start_far("logs", runs, "last", "live")
    (run / "slurm-9.out").write_text("finished\n")
    assert process.stdout.readline() == b"[job] finished\n"
    (run / "ended.json").write_text('{"outcome": "finished", "code": 0}')
    time.sleep(1)
    assert process.poll() is None

    with (run / "slurm-9.out").open("a") as file:
        file.write("goodput: 4 GPUs\n")
    (run / "ledger.json").write_text("{}")
    assert process.communicate(timeout=150)[0] == b"[job] goodput: 4 GPUs\n"
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("ended", "cancelled", "soon"), [(False, False, False), (True, False, True), (False, True, True)]
)
def test_a_run_that_is_about_to_end_is_looked_at_more_often(runs, ended, cancelled, soon):
    """Who pressed Ctrl-C waits for it."""
    run = runs / "new-20261121-100000"
    if cancelled:
        (run / "cancelled").touch()

    assert run_logs.Follow(str(run)).poll_interval_s(ended=ended) == (
        run_logs.SOON_S if soon else run_logs.POLL_INTERVAL_S
    )


def test_a_line_without_end_fills_no_memory(runs, capfdbinary):
    """A sparse file costs its writer nothing; lines after it are shown."""
    run = runs / "old-20261120-100000"
    path = run / "logs/1/gpu-node1/0.out"
    with path.open("wb") as file:
        file.write(b"first\n")
        file.truncate(300 << 20)
        file.seek(0, 2)
        file.write(b"end of it\nlast\n")
    follow = run_logs.Follow(str(run))
    tracemalloc.start()
    follow.show(live=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    out = capfdbinary.readouterr().out

    assert peak < 30 << 20
    assert len(out) < 2 << 20
    first, long, last = out.splitlines()
    assert (first, last) == (b"[gpu-node1:0] first", b"[gpu-node1:0] last")
    assert long.endswith(b"[the rest of this line is left out: it has more than 1048576 bytes]")
    assert b"end of it" not in out


def test_events_of_brackets_do_not_end_the_logs(runs, capfdbinary, monkeypatch):
    """The progress is missing, with a reason, and the logs go on."""
    run = runs / "old-20261120-100000"
    (run / "slurm-7.out").write_text("job 7\n")
    monkeypatch.setattr(run_logs, "EVENTS_BYTES", 10)
    follow = run_logs.Follow(str(run))
    follow.show(live=True)
    out, err = capfdbinary.readouterr()

    assert b"[job] job 7" in out
    assert b"the progress cannot be read: it takes too many bytes to read" in err
