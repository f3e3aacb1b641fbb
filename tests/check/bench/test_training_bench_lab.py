"""On a real lab: a training on 1, 2 and 4 hosts scales, all ranks agree, and a host that computes slowly is named."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from clusterwright.lab import cgroups

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(1800)]

NAME, NET = "training-bench", "10.213"
WRIGHT = (sys.executable, "-c", "from clusterwright.cli import main; main()")
HOSTS = [f"gpu-node{index}" for index in range(1, 5)]
SLOW = "gpu-node3"
STILL_S, GOES_S = 0.9, 0.1  # a tenth of the speed of the others, however busy the machine
# Of four hosts, three that lie within this leave the fourth no way out of 3.5 deviations; a busy machine may not.
ALIKE = 1.3
LOOK_EACH = 3  # so many turns later it is asked again which ranks there are, which takes a busy machine long


@pytest.fixture(scope="module")
def site(tmp_path_factory, example_lab):
    """Five hosts."""
    with example_lab(tmp_path_factory.mktemp("training"), NAME, NET, {}) as stands:
        yield stands.file


def bench(*arguments):
    """The exit code, the JSON document, and what was said meanwhile."""
    done = subprocess.run(
        [*WRIGHT, "bench", *map(str, arguments), "--json"],
        capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


def by_part(document, status):
    """Subjects of that status, by part."""
    found = {}
    for each in document["verdicts"]:
        if each["status"] == status:
            found.setdefault(each["part"], set()).add(each["subject"])
    return found


def pids_in(listed):
    """None of a group that is gone."""
    try:
        return [int(pid) for pid in listed.read_text().split()]
    except OSError:
        return []


def ranks_of(host):
    """Processes on the host that have met the other ranks, so that importing torch is not slowed."""
    for tree in cgroups.groups(NAME, host)[:1]:
        for listed in tree.rglob("cgroup.procs"):
            for pid in pids_in(listed):
                with suppress(OSError):
                    threads = [each.read_text() for each in Path(f"/proc/{pid}/task").glob("*/comm")]
                    if any(name.startswith("pt_gloo") for name in threads):
                        yield pid


@contextmanager
def slowed(host):
    """Nine tenths of the time the host's ranks stand still."""
    over = threading.Event()

    def each(pids, sign):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, sign)

    def go():
        while not over.is_set():
            pids = set(ranks_of(host))
            for _ in range(LOOK_EACH):
                each(pids, signal.SIGSTOP)
                over.wait(STILL_S)
                each(pids, signal.SIGCONT)
                over.wait(GOES_S)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def own_samples(document):
    """Of each host the best of its own rates, as it is judged by."""
    found = {}
    for each in document["measurements"]:
        if each["quantity"] == "own samples":
            found[each["subject"]] = max(each["value"], found.get(each["subject"], 0))
    return found


@pytest.fixture(scope="module")
def clean(site):
    """A bench of hosts that are all as they should be."""
    code, document, said = bench("training", "--cluster", site)
    assert code == 0, said
    return document, said


def test_clean_hosts_scale_and_agree(site, clean):
    """The table has one, two and four hosts; every rank of every group has the same loss; nobody fails."""
    document, said = clean
    sizes = {
        (len(each["hosts"]), each["conditions"]["transport"])
        for each in document["measurements"]
        if each["quantity"] == "training step"
    }
    rows = [line.split() for line in said.splitlines() if line.startswith(("-  ", "tcp  "))]

    assert sizes == {(1, "-"), (2, "tcp"), (4, "tcp")}
    assert [row[:3] for row in rows] == [["-", "1", "1"], ["tcp", "2", "2"], ["tcp", "4", "4"]]
    assert by_part(document, "fail") == {}
    assert by_part(document, "unknown") == {}
    assert by_part(document, "ok")["data"] == {"gpu-node[1-4]"}
    assert {each["subject"] for each in document["verdicts"] if each["part"] == "own steps"} == {*HOSTS}
    assert document["id"] in [row["id"] for row in bench("list", "--cluster", site)[1]]


@pytest.mark.long
def test_a_host_that_computes_slowly_is_named_and_nobody_else(site):
    """It fails by two opinions and three measurements; a warning where the machine made the others differ as well."""
    with slowed(SLOW):
        code, document, said = bench("training", "--cluster", site)
    own = own_samples(document)
    others = [rate for host, rate in own.items() if host != SLOW]

    assert own[SLOW] < min(others), said
    assert SLOW not in by_part(document, "ok").get("own steps", set())
    assert {SLOW} >= by_part(document, "fail").get("own steps", set())
    if max(others) < ALIKE * min(others):
        assert (code, by_part(document, "fail")) == (5, {"own steps": {SLOW}}), said


def test_a_loader_is_measured_on_every_host(site):
    """Both kinds of data; the best number of workers is told; nothing is left in the shared folder."""
    _code, document, said = bench("loader", "--cluster", site)

    assert {each["subject"] for each in document["measurements"]} == {*HOSTS}
    assert {each["quantity"] for each in document["measurements"]} >= {
        "samples from files, warm", "samples from shards, warm",
    }  # fmt: skip
    assert by_part(document, "fail") == by_part(document, "unknown") == {}
    assert any("fastest with" in note for note in document["notes"]), said
