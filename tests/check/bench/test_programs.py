"""What runs on hosts, run here: real iperf3, streams, fio, torch, and the worker that carries out orders."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import clusterwright.onhost.bench as folder
from clusterwright.check.bench.kinds.memory import figures as memory_figures
from clusterwright.check.bench.parsers.iperf3 import stream
from clusterwright.check.bench.parsers.sweep import sweep
from clusterwright.check.bench.stage import StageAnswer
from clusterwright.check.bench.storage.folder import figures as storage_figures
from clusterwright.edge.bundler import BENCH, LOADER, program_input
from clusterwright.onhost.bench import disks
from clusterwright.onhost.bench.conduct import MARKER

PROGRAMS = Path(folder.__file__).parent
LO = "127.0.0.1"


def start(name, given, **more):
    """The program under way, with what it finds on stdin."""
    process = subprocess.Popen(
        [sys.executable, PROGRAMS / f"{name}.py"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
    )  # fmt: skip
    process.stdin.write(json.dumps(given))
    process.stdin.close()
    process.stdin = None
    return process


def ran(name, given):
    """How it ended."""
    process = start(name, given)
    out, err = process.communicate(timeout=120)
    return StageAnswer(process.returncode, out, err)


def both_ends(tool, port, *, server_first=True):
    """What the client of a pair on this machine prints, and both exit codes."""
    given = {"tool": tool, "address": LO, "own": LO, "port": port, "seconds": 1, "streams": 2}
    roles = ("server", "client") if server_first else ("client", "server")
    ends = {}
    for role in roles:
        ends[role] = start("pair", {"role": role, **given})
        time.sleep(0.5)
    out, err = ends["client"].communicate(timeout=60)
    ends["server"].communicate(timeout=60)
    return json.loads(out or "null"), [end.returncode for end in ends.values()], err


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(
            "iperf3", marks=pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is not installed")
        ),
        "tcp",
    ],
)
@pytest.mark.parametrize("server_first", [True, False])
def test_a_pair_measures_both_directions_whoever_begins(tool, server_first):
    """Real streams over loopback; the addresses that the connections had are told."""
    said, codes, err = both_ends(tool, 21700 + 10 * server_first, server_first=server_first)

    assert codes == [0, 0], err
    for way in ("there", "back"):
        found = stream(said[way])
        assert found.tool == tool
        assert found.bytes_per_s > 1e6
        assert {address for ends in found.ends for address in ends} == {LO}


def test_hello_says_what_is_here():
    """Versions of kernel and torch, tools by their path, interfaces by address."""
    found = ran("hello", {"python": sys.executable}).document

    assert found["versions"]["kernel"] == os.uname().release
    assert found["interfaces"][LO] == "lo"
    assert found["tools"]["iperf3"] == (shutil.which("iperf3") or "")
    assert found["versions"]["nccl"] == "" or found["versions"]["nccl"][0].isdigit()


@pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed (apt-get install fio)")
def test_disks_measures_a_folder_and_leaves_nothing(tmp_path, monkeypatch):
    """Three jobs of fio, and four steps of small files: in that folder, not where the program was started."""
    elsewhere, place = tmp_path / "elsewhere", tmp_path / "place"
    elsewhere.mkdir(), place.mkdir()
    monkeypatch.chdir(elsewhere)
    answer = ran("disks", {"folder": str(place), "size_mib": 4, "seconds": 1})

    found = {figure.quantity: figure.value for figure in storage_figures(answer)}
    assert len(found) == 7
    assert all(value > 0 for value in found.values())
    assert list(place.iterdir()) == []
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("own", "where"), [("/scratch/jobs/7", "/scratch/jobs/7"), ("/other/jobs/7", "/scratch")]
)
def test_a_local_disk_is_measured_where_the_job_may_write(own, where, monkeypatch):
    """The prolog gives the job a part of the first disk to itself; another disk's part is not it."""
    monkeypatch.setenv("SCRATCH", own)

    assert disks.job_folder("/scratch") == where


@pytest.mark.train
def test_memory_moves_what_it_says():
    """With real torch; the sums are checked."""
    answer = ran("memory", {"memory_bytes": 2**31})

    assert {figure.quantity for figure in memory_figures(answer)} == {"memory copy", "memory triad"}
    assert answer.document["array_bytes"] <= 2**27
    with pytest.raises(ValueError, match="other data"):
        memory_figures(StageAnswer(0, json.dumps(answer.document | {"right": False}), ""))


KINDS = ["all_reduce", "all_reduce_pieces", "all_gather", "reduce_scatter", "broadcast", "all_to_all"]


@pytest.mark.train
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_sweep_has_right_data_of_every_operation(ranks):
    """Real Gloo between processes of this machine; columns and factors are those of nccl-tests."""
    given = {
        "ranks_here": ranks, "ranks": ranks, "first_rank": 0, "address": LO, "port": 21800 + ranks, "interface": "lo",
        "backend": "gloo", "kinds": KINDS, "sizes": [1024, 65536], "iterations": 3,
    }  # fmt: skip
    answer = ran("collectives", given)

    found = sweep(answer.out)
    assert answer.reason == ""
    assert [row.kind for row in found.rows] == [kind for kind in KINDS for _ in range(2)]
    assert {row.wrong for row in found.rows} == {0}
    assert found.skipped == {}
    row = found.largest("all_reduce")
    assert row.bus_bw == pytest.approx(row.alg_bw * 2 * (ranks - 1) / ranks)
    assert row.alg_bw == pytest.approx(row.size / row.seconds)
    assert found.carried["lo"] > 65536


@contextmanager
def worker(place):
    """A worker of host `n1`, which is told to stop at the end."""
    for name in ("orders", "answers"):
        (place / name).mkdir()
    shutil.copytree(PROGRAMS, place / "programs")
    environment = os.environ | {"SLURMD_NODENAME": "n1"}
    process = subprocess.Popen([sys.executable, PROGRAMS / "worker.py", place], env=environment)
    try:
        yield process
        (place / "orders" / "stop").touch()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def conduct(place, number, part, *, limit_s=30, hosts=("n1",)):
    """One order given and answered, as on the control host; Slurm is not asked within three seconds."""
    order = {"parts": dict.fromkeys(hosts, part)}
    asked = {"folder": str(place), "name": f"{number:05}", "limit_s": limit_s, "job": "1", "order": order}
    data = program_input(BENCH) + json.dumps(asked).encode()
    done = subprocess.run(
        [sys.executable, "-c", LOADER], input=data, capture_output=True, timeout=60, check=True
    )
    return json.loads(done.stdout.decode().rpartition(MARKER)[2])["answers"]


def test_orders_are_carried_out_one_after_the_other(tmp_path):
    """Each by its program and within its limit; a program that overruns is ended, and the next order is done."""
    with worker(tmp_path):
        program = tmp_path / "programs" / "naps.py"
        program.write_text(
            "import json, sys, time\nt = json.load(sys.stdin)\ntime.sleep(t)\nprint(json.dumps(t))\n"
        )
        quick = conduct(tmp_path, 1, {"program": "naps", "given": 0.1, "limit_s": 20})
        long = conduct(tmp_path, 2, {"program": "naps", "given": 60, "limit_s": 0.5})
        failing = conduct(tmp_path, 3, {"program": "absent", "given": 0, "limit_s": 20})
        again = conduct(
            tmp_path, 4, {"program": "naps", "given": 0, "limit_s": 20}, hosts=("n1", "n2"), limit_s=2.5
        )

    assert (quick["n1"]["code"], quick["n1"]["out"]) == (0, "0.1\n")
    assert long["n1"]["stopped"] == "overran its 0.5 s"
    assert failing["n1"]["code"] == 2
    assert "No such file" in failing["n1"]["err"]
    assert list(again) == ["n1"]


def test_tools_speak_no_language_but_that_of_the_parsers(tmp_path, monkeypatch):
    """Whatever the user's own is."""
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    with worker(tmp_path):
        program = tmp_path / "programs" / "speaks.py"
        program.write_text("import os\nprint(os.strerror(2), os.environ['LC_ALL'])\n")
        said = conduct(tmp_path, 1, {"program": "speaks", "given": 0, "limit_s": 20})

    assert said["n1"]["out"] == "No such file or directory C\n"
