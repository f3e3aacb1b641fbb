"""On a real lab: a clean network is well, a link at half its rate is named, a host that dies takes none along."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.provision.apply import remote_of

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(900)]

NAME, NET = "bench-test", "10.194"
EXAMPLE = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
WRIGHT = (sys.executable, "-c", "from clusterwright.cli import main; main()")
DIVISOR = 500  # links of 200 Mbit/s, which a busy machine can still fill
HALF = "100Mbit/s"
WELL = {f"gpu-node{index}": "ok" for index in range(1, 5)}


@pytest.fixture(scope="module")
def site(tmp_path_factory, example_lab):
    """Five hosts with slow links."""
    slow = {"rate_divisor: 100": f"rate_divisor: {DIVISOR}"}
    with example_lab(tmp_path_factory.mktemp("bench"), NAME, NET, slow) as stands:
        yield stands.file


def begin(*arguments):
    """The command under way, as a user runs it."""
    return subprocess.Popen(
        [*WRIGHT, "bench", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def bench(*arguments):
    """The exit code, and what the command printed as JSON."""
    process = begin(*arguments, "--json")
    out, err = process.communicate(timeout=600)
    return process.returncode, json.loads(out) if out else err


def statuses(document):
    """By subject."""
    return {each["subject"]: each["status"] for each in document["verdicts"]}


def wait_until(command, wanted, limit_s=120):
    """Until it prints that on the control host; a busy machine may refuse a connection meanwhile."""
    remote = remote_of(load_cluster(EXAMPLE).model_copy(update={"name": NAME}))
    until = time.monotonic() + limit_s
    while (done := remote.run("control", command)).out.strip() != wanted or not done.ok:
        assert time.monotonic() < until, f"{command}: {done.out} {done.err}, not {wanted}"
        time.sleep(0.5)


@pytest.fixture(scope="module")
def clean(site):
    """The number of a bench of the network as it should be."""
    code, document = bench("network", "--cluster", site)
    assert (code, statuses(document)) == (0, WELL)
    return document


def test_a_clean_network_is_all_well_and_kept_with_its_versions(site, clean):
    """Every pair both ways, over the compute network; Slurm, kernel, tools and ours are noted for each host."""
    listed = bench("list", "--cluster", site)[1]

    assert len(clean["measurements"]) == 12
    assert {each["conditions"]["transport"] for each in clean["measurements"]} == {"tcp on compute"}
    assert {each["conditions"]["tool"] for each in clean["measurements"]} == {"iperf3"}
    versions = clean["versions"]["gpu-node1"]
    assert all(versions[part] for part in ("kernel", "slurm", "torch", "iperf3", "fio", "clusterwright"))
    assert clean["id"] in [row["id"] for row in listed]
    wait_until("squeue --noheader; ls /shared/bench", "")


def test_a_link_at_half_its_rate_is_named_and_shows_against_the_clean_run(site, clean):
    """That host fails by two opinions and two measurements; the others are as they were."""
    lab.fault(NAME, "slow-link", "gpu-node3", network="compute", rate=HALF)
    try:
        code, document = bench("network", "--cluster", site)
    finally:
        lab.undo(NAME)
    compared = bench("compare", "--cluster", site, clean["id"], document["id"])[1]

    assert code == 5
    assert statuses(document) == WELL | {"gpu-node3": "fail"}
    (failed,) = [each for each in document["verdicts"] if each["status"] == "fail"]
    assert "best of 2" in failed["observed"]
    assert f"lab.rate_divisor {DIVISOR}" in failed["expected"]
    changes = {
        each["subject"]: each["after"] / each["before"] for each in compared["changes"] if each["changed"]
    }
    halved = {
        subject for subject, ratio in changes.items() if ratio < 0.65
    }  # noise of a busy machine is less
    assert halved == {each["subject"] for each in compared["changes"] if "gpu-node3" in each["subject"]}
    assert len(halved) == 6
    assert compared["versions"] == []


def test_a_second_bench_is_refused_and_a_host_that_dies_takes_none_along(site):
    """The one under way is named; of it the dead host fails, the others are judged by what they measured."""
    first = begin("network", "--cluster", site, "--json")
    wait_until("cd /shared/bench && ls */orders/00002.json | wc -l", "1")  # the first round is under way
    code, said = bench("network", "--cluster", site, "--wait", "2s")
    lab.fault(NAME, "kill-host", "gpu-node4")
    try:
        document = json.loads(first.communicate(timeout=200)[0])
    finally:
        lab.undo(NAME)

    assert code == 1
    assert "error[bench-hosts-busy]" in said
    assert "(wright-bench) of alice on gpu-node[1-4]" in said
    assert first.returncode == 5
    assert statuses(document) == WELL | {"gpu-node4": "fail"}
    wait_until("sinfo --noheader --format=%T", "idle")


def test_collectives_are_verified_and_storage_is_measured(site):
    """All five operations with right data on Gloo; fio and small files on every host."""
    code, document = bench("collectives", "--cluster", site)
    stored = bench("storage", "--cluster", site)[1]

    assert (code, statuses(document)) == (0, {"gpu-node[1-4]": "ok"})
    kinds = {each["quantity"] for each in document["measurements"]}
    assert {
        f"{kind} busbw" for kind in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all")
    } <= kinds
    assert {each["conditions"]["wrong"] for each in document["measurements"]} == {0}
    assert {each["conditions"]["transport"] for each in document["measurements"]} == {"tcp by compute"}
    assert {each["subject"] for each in stored["measurements"]} == set(WELL)
    assert {"random reads of 4 KiB", "small files made"} <= {
        each["quantity"] for each in stored["measurements"]
    }
    assert "fail" not in statuses(stored).values()
