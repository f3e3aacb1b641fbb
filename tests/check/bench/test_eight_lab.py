"""On a real lab of eight hosts: a slow link and a slow disk are found wherever they are, in few rounds; burn-in."""

import json
import re
import signal
import subprocess
import sys
import time
from math import log2
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.provision.apply import remote_of

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(1500)]

NAME, NET = "eight-test", "10.215"
EXAMPLE = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
WRIGHT = (sys.executable, "-c", "from clusterwright.cli import main; main()")
DIVISOR, HALF = 1000, "50Mbit/s"  # links of 100 Mbit/s: eight of them are filled by a busy machine, too
MOST_ROUNDS = log2(8) + 2
# In the middle of what is halved, first and last.
PLACES = ["gpu-node5", *(pytest.param(name, marks=pytest.mark.long) for name in ("gpu-node1", "gpu-node8"))]


@pytest.fixture(scope="module")
def site(tmp_path_factory, example_lab):
    """Nine hosts, each compute host with a local disk."""
    changes = {
        "gpu-node[1-4]": "gpu-node[1-8]", "rate_divisor: 100": f"rate_divisor: {DIVISOR}", "    # disks:": "    disks:",
    }  # fmt: skip
    with example_lab(tmp_path_factory.mktemp("eight"), NAME, NET, changes) as stands:
        yield stands.file


def begin(*arguments):
    """The command under way, as a user runs it."""
    argv = [*WRIGHT, "bench", *map(str, arguments), "--wait", "20m", "--json"]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def bench(*arguments):
    """The exit code, and what the command printed."""
    process = begin(*arguments)
    out, err = process.communicate(timeout=1300)
    assert out, err
    return process.returncode, json.loads(out)


def struck(site, kind, host, bench_of, **options):
    """What the bench said while that fault was in force."""
    lab.fault(NAME, kind, host, **options)
    try:
        return bench(bench_of, "--cluster", site)
    finally:
        lab.undo(NAME)


def failed(document):
    """Subject and part of what failed."""
    return {(each["subject"], each["part"]) for each in document["verdicts"] if each["status"] == "fail"}


def rounds(document, of):
    """As the notes say them."""
    (count,) = [
        int(found[1]) for note in document["notes"] if (found := re.match(rf"{of}: (\d+) rounds", note))
    ]
    return count


@pytest.mark.parametrize("bad", PLACES)
def test_a_link_at_half_its_rate_is_found_by_bisecting(site, bad):
    """The host behind it fails and no other, in log2(N) + 2 rounds."""
    code, document = struck(site, "slow-link", bad, "collectives", network="compute", rate=HALF)

    assert (code, failed(document)) == (5, {(bad, "")}), document["verdicts"]
    assert rounds(document, "bisected") <= MOST_ROUNDS


@pytest.mark.parametrize("bad", PLACES)
def test_a_slow_disk_is_named_with_its_path(site, bad):
    """The host and the path fail and no other; in log2(N) + 2 rounds."""
    code, document = struck(site, "slow-disk", bad, "storage")

    assert (code, failed(document)) == (5, {(bad, "/scratch")}), document["verdicts"]
    assert rounds(document, "/scratch") <= MOST_ROUNDS
    measured = {(each["subject"], each["conditions"].get("folder")) for each in document["measurements"]}
    assert measured >= {
        (f"gpu-node{index}", folder) for index in range(1, 9) for folder in (None, "/scratch")
    }


def test_burn_in_verifies_every_result_and_leaves_nothing(site):
    """Cores, memory and disk of every host, a stream between them, and the checks of the occasion."""
    code, document = bench("burn-in", "--cluster", site, "--for", "20s")

    assert code == 0, [each for each in document["verdicts"] if each["status"] in {"fail", "unknown"}]
    results = {each["subject"]: each["status"] for each in document["verdicts"] if each["part"] == "results"}
    assert results == {f"gpu-node{index}": "ok" for index in range(1, 9)}
    quantities = {each["quantity"] for each in document["measurements"]}
    assert quantities >= {
        "cpu products",
        "memory",
        "disk /scratch",
        "cpu products drift",
        "max gpu0 temperature",
    }
    parts = {each["part"].split(" ")[0] for each in document["verdicts"]}
    assert parts >= {"gpu_temperature", "gpu_ecc", "gpu_xids", "kernel_faults", "link_errors"}
    wait_until("squeue --noheader; ls /shared/bench", "")


@pytest.mark.long
def test_burn_in_that_is_interrupted_judges_and_keeps_what_there_is(site):
    """Ctrl-C in an hour's burn-in: hosts are given back, the run is in the list, nothing unmeasured is green."""
    process = begin("burn-in", "--cluster", site, "--for", "1h")
    wait_until("cd /shared/bench && ls */orders/00002.json | wc -l", "1")  # under load
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)

    assert process.returncode == 1, err
    document = json.loads(out)
    assert "interrupted" in document["notes"][0]
    results = {each["status"] for each in document["verdicts"] if each["part"] == "results"}
    assert results == {"unknown"}
    wait_until("squeue --noheader; ls /shared/bench", "")


def wait_until(command, wanted, limit_s=300):
    """Until it prints that on the control host; a busy machine may refuse a connection meanwhile."""
    remote = remote_of(load_cluster(EXAMPLE).model_copy(update={"name": NAME}))
    until = time.monotonic() + limit_s
    while (done := remote.run("control", command)).out.strip() != wanted or not done.ok:
        assert time.monotonic() < until, f"{command}: {done.out} {done.err}, not {wanted}"
        time.sleep(0.5)
