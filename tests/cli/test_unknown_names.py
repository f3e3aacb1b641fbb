"""Names that do not exist: one error for each kind, exit code 2, and the closest name as the fix."""

import json
from pathlib import Path

import pytest

from clusterwright.errors import closest_name, unknown_name_fix

EXAMPLE = Path(__file__).parents[2] / "examples/lab/cluster.yaml"
CLUSTER = f"--cluster {EXAMPLE}"
RUN = "gpt-20261127-101010"


@pytest.fixture
def run(tmp_path):
    """A run on this machine, in ./runs."""
    folder = tmp_path / "runs" / RUN
    folder.mkdir(parents=True)
    (folder / "job.json").write_text('{"local": true}')


@pytest.mark.parametrize(
    ("line", "code", "closest"),
    [
        ("status gpt-20261127-10101", "no-run", RUN),
        ("logs gpt-20261127-10101", "no-run", RUN),
        ("logs --follow gpt-20261127-10101", "no-run", RUN),
        ("cancel gpt-20261127-10101", "no-run", RUN),
        ("curves gtp-20261127-101010", "no-run", RUN),
        ("why gpt-20261127", "no-run", RUN),
        ("report job gpt-2026112", "no-run", RUN),
        ("checkpoints list gpt-20261127", "no-run", RUN),
        ("checkpoints verify gpt-20261127", "no-run", RUN),
        (f"check --hosts gpu-nod1 {CLUSTER}", "no-such-host", "gpu-node1"),
        (f"check --hosts gpu-node[1-9] {CLUSTER}", "no-such-host", "choose from"),
        (f"bench network --hosts gpu-nod1 {CLUSTER}", "no-such-host", "gpu-node1"),
        (f"tune network --hosts gpu-nod1 {CLUSTER}", "no-such-host", "gpu-node1"),
        (f"state recover --hosts gpu-nod1 {CLUSTER}", "no-such-host", "gpu-node1"),
        (f"checkpoints list /x --host gpu-nod1 {CLUSTER}", "no-such-host", "gpu-node1"),
        (f"remove-hosts gpu-nod1 {CLUSTER}", "no-such-host", "gpu-node1"),
        (f"add-hosts a10 gpu-node9 {CLUSTER}", "no-such-group", "a100"),
        (f"check --only munge_betwen {CLUSTER}", "no-such-check", "munge_between"),
        (f"lab campaign --only host-kiled {CLUSTER}", "campaign-kind", "host-killed"),
        (f"dev --partition trian --dry-run {CLUSTER}", "dev-partition", "train"),
        (f"bench compare a b {CLUSTER}", "bench-no-run", "wright bench list"),
        (f"bench compare results.json 2 {CLUSTER}", "bench-no-run", "wright bench list"),
        (f"bench compare 1 2 {CLUSTER}", "bench-no-run", "wright bench network"),
        ("plan power --gpu a1000", "unknown-gpu", "a100-sxm-80gb"),
        ("plan catalog gpus h1000", "unknown-gpu", "h100-sxm-80gb"),
        ("plan catalog servers hgx-h10", "unknown-part", "hgx-h100"),
        ("plan storage --dataset 1TB --model lama-3-8b", "unknown-model", "llama3-8b"),
        ("explain gres-mismach", "unknown-topic", "gres-mismatch"),
        ("--lang zhh jobs", "unknown-name", "zh"),
        ("schema clster", "usage", "cluster"),
        ("statis", "usage", "status"),
        ("check --hots x", "usage", "--hosts"),
    ],
)
def test_the_closest_name_is_the_fix(command, run, line, code, closest):
    """The same exit code for every kind of name."""
    done = command(*line.split())

    assert (done.returncode, done.stdout) == (2, "")
    assert f"error[{code}]" in done.stderr
    assert closest in done.stderr


@pytest.mark.parametrize("line", ["status gpt-1 --json", f"check --hosts x --json {CLUSTER}"])
def test_it_is_json_where_the_answer_is(command, run, line):
    """With the same exit code."""
    done = command(*line.split())

    document = json.loads(done.stdout)
    assert (done.returncode, document["exit_code"]) == (2, 2)
    assert document["errors"][0]["code"] in ("no-run", "no-such-host")


def test_a_misspelled_host_is_not_only_a_controller_that_is_unreachable(command):
    """The name could be a run, which only the controller knows; the file knows its hosts."""
    done = command("why", "gpu-1", "--cluster", EXAMPLE.parents[1] / "university" / "cluster.yaml")

    assert done.returncode == 1
    assert "error[unreachable]: the cluster file has no host `gpu-1`, and for runs: " in done.stderr
    assert "fix: did you mean `gpu1`? " in done.stderr


@pytest.mark.parametrize("name", ["logs", "status", "cancel", "curves"])
def test_a_folder_that_is_no_run_is_named_as_one(command, tmp_path, name):
    """It is here, so that the error is not that there is no such file."""
    (tmp_path / "logs-of-ann").mkdir()
    done = command(name, "./logs-of-ann")

    assert done.returncode == 2
    assert "./logs-of-ann is not the folder of a run" in done.stderr
    assert "wright why ./logs-of-ann" in done.stderr


def test_without_runs_the_fix_proposes_none(command, tmp_path):
    """`wright jobs` would list nothing."""
    (tmp_path / "runs").mkdir()
    done = command("status", "gpt-20261127-101010")

    assert done.returncode == 2
    assert "fix: no run is there; for a run of a cluster, pass --cluster cluster.yaml\n" in done.stderr


def test_a_new_host_that_is_in_the_file_is_noted(command):
    """A retry names it again, a typo for the first time."""
    file = EXAMPLE.parents[1] / "university" / "cluster.yaml"
    done = command("add-hosts", "gpu", "gpu[2-4]", "--dry-run", "--cluster", file)

    assert done.returncode == 1
    assert f"note: gpu2: in {file} already\n" in done.stderr


def test_an_unknown_gpu_of_a_cluster_file_is_a_note(command, tmp_path):
    """It may be newer than the catalog, so the file is valid."""
    text = EXAMPLE.read_text().replace("model: a100", "model: a1000").partition("\nlab:")[0]
    (tmp_path / "cluster.yaml").write_text(text)

    done = command("validate", "cluster.yaml")

    assert "`a1000`" in done.stderr
    assert "did you mean `a100-sxm-80gb`" in done.stderr


def test_the_closest_name_ignores_case_and_what_follows_the_first_hyphen():
    """Short forms of long names."""
    assert closest_name("A1000", ["h100-pcie-80gb", "a100-sxm-80gb"]) == "a100-sxm-80gb"
    assert closest_name("Control", ["gpu-node1", "control"]) == "control"
    assert closest_name("zzz", ["gpu-node1", "control"]) is None


def test_without_a_similar_name_the_first_ones_are_listed():
    """Not thousands of them."""
    assert unknown_name_fix("zzz", [f"host{number}" for number in range(100)]).endswith("host11 ... (+88)")
    assert unknown_name_fix("zzz", ["a"], "run wright jobs") == "run wright jobs"
    assert unknown_name_fix("zzz", []) == "there is none to choose from"
