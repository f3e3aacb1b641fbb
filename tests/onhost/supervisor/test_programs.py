"""Programs as they are: some fork, some do not listen, some say far too much, some leave in different ways."""

import os
import signal
import time
from pathlib import Path

import pytest

from clusterwright.onhost.supervisor.host import wake
from clusterwright.onhost.supervisor.host.ranks import Ranks

pytestmark = [pytest.mark.train, pytest.mark.timeout(200)]


def program(local_run, text):
    """A script of that text; it knows its rank and its generation."""
    path = local_run.folder.parent / "program.py"
    numbers = "RANK, GENERATION = int(os.environ['RANK']), int(os.environ['CLUSTERWRIGHT_GENERATION'])\n"
    path.write_text("import os, sys, time\n" + numbers + text)
    return path


def alive(pid):
    """True while the process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_rank_runs_its_script_as_python_would(local_run):
    """Arguments, `__main__`, `__file__`, the folder of the script in front, stdin empty, output unbuffered."""
    script = program(
        local_run,
        "import json\n"
        "said = [__name__, os.path.basename(__file__), sys.argv[1:], sys.path[0] == os.path.dirname(__file__),"
        " sys.stdin.read(), sys.modules['__main__'].__dict__ is globals()]\n"
        "open(f'{os.environ[\"CLUSTERWRIGHT_RUN\"]}/said-{RANK}', 'w').write(json.dumps(said))\n",
    )
    local_run.start(script=script, nodes=1, steps=7)

    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    assert (local_run.folder / "said-1").read_text() == (
        '["__main__", "program.py", ["7", "0.05", "0"], true, "", true]'
    )


def test_a_rank_that_fails_beside_one_that_finishes_is_a_failure(local_run):
    """Exit code 0 on one rank and 1 on another is no success, and the words of the one that failed are passed on."""
    script = program(local_run, "if RANK == 1: raise ValueError('row 17 is bad')\n")
    local_run.start(script=script, nodes=1, restarts=0)

    assert local_run.process.wait(timeout=150) == 1
    assert "row 17 is bad" in local_run.said()
    assert [one["message"] for one in local_run.events("rank_exit", rank=1)] == ["ValueError: row 17 is bad"]


def test_the_same_bug_is_not_tried_for_ever(local_run):
    """Twice at the same step, without any progress: its own exit code, though three restarts are allowed."""
    script = program(local_run, "if RANK == 0: raise ValueError('row 17 is bad')\ntime.sleep(60)\n")
    local_run.start(script=script, nodes=1, restarts=3)

    assert local_run.process.wait(timeout=150) == 4
    assert "the same failure twice" in local_run.outcome()["reason"]
    assert len(local_run.events("generation_start")) == 2


def test_a_rank_that_ignores_sigterm_and_forks_leaves_nothing_behind(local_run):
    """Its grandchildren in sessions of their own are ended with the generation, and with the run."""
    script = program(
        local_run,
        "import signal, subprocess\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['setsid', 'sleep', '600'])\n"
        "open(f'{os.environ[\"CLUSTERWRIGHT_RUN\"]}/child-{GENERATION}-{RANK}', 'w').write(str(child.pid))\n"
        "time.sleep(2)\n"
        "if GENERATION == 1 and RANK == 0: os._exit(3)\n"
        "time.sleep(600 if GENERATION == 1 else 1)\n",
    )
    local_run.start(script=script, nodes=1)

    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    children = [int(path.read_text()) for path in local_run.folder.glob("child-*")]
    assert len(children) == 4
    local_run.until(lambda: not any(map(alive, children)))
    local_run.until(lambda: not local_run.processes())


def test_a_flood_of_output_is_cut(local_run):
    """A rank that writes 300 MB as fast as it can finishes, and its log is no longer than its limit."""
    script = program(
        local_run, "line = 'x' * 9999 + '\\n'\nfor _ in range(30000): sys.stdout.write(line)\ntime.sleep(3)\n"
    )
    local_run.start(script=script, nodes=1, ranks=1)

    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    log = next(local_run.folder.glob("logs/1/*/0.out"))
    assert log.stat().st_size < 280e6
    assert b"bytes omitted" in log.read_bytes()


def test_two_jobs_on_one_host_do_not_meet(local_run, tmp_path):
    """Begun together, their stores listen on different ports, and both finish."""
    script = program(
        local_run,
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "total = torch.ones(1)\ndist.all_reduce(total)\nassert total.item() == 2\n",
    )
    other = type(local_run)(tmp_path / "counting-20261121-120001")
    other.folder.mkdir()
    local_run.start(script=script, nodes=1)
    other.start(script=script, nodes=1)

    assert (local_run.process.wait(timeout=150), other.process.wait(timeout=150)) == (0, 0), local_run.said()
    assert local_run.events("generation_start")[0]["port"] != other.events("generation_start")[0]["port"]


def test_an_import_that_starts_a_thread_is_not_held_ready(local_run):
    """The fork server begins anew without it, says so, and the rank imports it by itself."""
    (local_run.folder.parent / "threaded.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    )
    script = program(local_run, "import threaded, threading\nassert threading.active_count() >= 2\n")
    local_run.start(script=script, nodes=1, imports=["threaded", "json"])

    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    assert "threaded starts threads on import" in str(local_run.events("standby")[0]["problems"])


def test_an_import_that_is_missing_is_said_and_costs_nothing(local_run):
    """Whether the program needs it is its own matter."""
    local_run.start(steps=5, pause=0.01, nodes=1, imports=["no_such_module"])

    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    assert "no_such_module" in local_run.said()


def test_ranks_that_start_cold_do_the_same(local_run):
    """Without a fork server (`warm.standby: false`): the same words, the same recovery."""
    script = program(local_run, "if GENERATION == 1 and RANK == 0: os._exit(3)\ntime.sleep(1)\n")
    local_run.start(script=script, nodes=1, standby=False)

    assert local_run.process.wait(timeout=150) == 0, local_run.said()
    assert [one["code"] for one in local_run.events("rank_exit")] == [3]
    assert local_run.events("standby") == []


def test_without_memory_no_ranks_are_held_ready(monkeypatch, tmp_path):
    """It is said, and what is started forks nothing but stores."""
    monkeypatch.setattr("clusterwright.onhost.supervisor.host.available.available_bytes", lambda: 300 << 20)
    ranks = Ranks(str(tmp_path), str(tmp_path / "log"), wake.Pipe())
    said = ranks.warm(os.environ, (), standby=True)
    server = ranks._server_pid
    line = Path(f"/proc/{server}/cmdline").read_bytes()
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)
    ranks._server.stdin.close()

    assert said == [{"standby": {"reason": "300 of 1024 MiB of memory available; ranks start cold"}}]
    assert b"clusterwright.onhost.supervisor.host.stores\0" in line


def of_one_parent(found):
    """These processes, once all of them are children of one: what is being forked, or ends, is not yet."""
    try:
        parents = {int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in found}
    except OSError:
        return []
    return found if len(found) > 1 and len(parents) == 1 else []


def test_stores_of_ranks_that_start_cold_have_imported_nothing(local_run):
    """Each is forked by one Python that has, so none takes the processors from ranks that import, or lets them wait."""
    script = program(
        local_run,
        "time.sleep(0.3)\nif GENERATION < 4 and RANK == 0: os.kill(os.getpid(), 9)\ntime.sleep(60)\n",
    )
    local_run.start(script=script, nodes=1, standby=False, restarts=9)
    local_run.until(lambda: local_run.events("generation_start")[3:])
    stores = local_run.until(
        lambda: of_one_parent(local_run.processes("clusterwright.onhost.supervisor.host.stores"))
    )
    alone = local_run.processes("clusterwright.onhost.supervisor.host.store ")
    (local_run.folder / "cancelled").touch()

    assert local_run.process.wait(timeout=120) == 143, local_run.said()
    assert len(stores) >= 2  # the server and what it forked
    assert alone == []


def test_a_fork_server_that_stands_still_is_done_without(tmp_path, monkeypatch):
    """One that was stopped: why is said, and what was ordered of it is started cold."""
    # half a minute would be waited for
    monkeypatch.setattr("clusterwright.onhost.supervisor.host.ranks.IDLE_S", 0.5)
    ranks = Ranks(str(tmp_path), str(tmp_path / "log"), wake.Pipe())
    ranks.warm(os.environ, (), standby=True)
    os.kill(ranks._server_pid, signal.SIGSTOP)
    ranks.prepare_store("127.0.0.1")
    said, end = [], time.monotonic() + 60
    while not any("store" in each for each in said) and time.monotonic() < end:
        time.sleep(0.05)
        said += ranks.reap() + ranks.read_messages() + ([] if said else ranks.poll())
    for pid in ranks._stores:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    why = "the fork server was idle for 0 s; ranks start cold until it restarts"
    assert said == [{"standby": {"reason": why}}, {"store": ranks.next_store}]
    assert ranks.next_store > 0
