"""On a real lab: a bad default is found and a better one written, noise is not, and numbers change only if allowed."""

import os
import subprocess
import sys

import pytest

from clusterwright import lab
from clusterwright.check.tune.trials import LEAST
from clusterwright.config.load import load_cluster
from clusterwright.edge.host import as_user
from clusterwright.provision.apply import remote_of

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(1800)]

NAME, NET = "tune-test", "10.216"
WRIGHT = (sys.executable, "-c", "from clusterwright.cli import main; main()")
LEAST_OF_IT = ("--budget", str(LEAST))
# Links of 200 Mbit/s for gradients, and half of that for the management network.
CHANGES = {
    "rate: 1Gbit/s": "rate: 50Gbit/s", "rate_divisor: 100": "rate_divisor: 500", "gpu-node[1-4]": "gpu-node[1-2]",
}  # fmt: skip
BADLY = "\njobs:\n  variables:\n    GLOO_SOCKET_IFNAME: management  # by mistake\n"
JOB = """\
name: small
recipe: gpt
arguments: {steps: 100000, batch: 4, microbatch: 2, width: 64, layers: 2, context: 32, evaluate_every: 100000}
nodes: 2
gpus_per_node: 1
time: 30m
user: alice
environment: {variables: {OMP_NUM_THREADS: "1"}}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory, example_lab):
    """The folder of the files of a job and of a lab of two hosts."""
    folder = tmp_path_factory.mktemp("tune")
    (folder / "job.yaml").write_text(JOB)
    with example_lab(folder, NAME, NET, CHANGES):
        yield folder


def wright(place, *arguments):
    """The exit code, what it printed, and what it said."""
    done = subprocess.run(
        [*WRIGHT, *arguments], cwd=place, capture_output=True, text=True, timeout=1500, check=False,
        env=os.environ | {"COLUMNS": "200"},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def told_to_jobs(place, variable):
    """The value that a job's script gives the variable; nothing where it gives none."""
    lines = wright(place, "train", "job.yaml", "--dry-run")[1].splitlines()
    return [line.partition("=")[2] for line in lines if line.startswith(f"export {variable}=")]


def difference(out):
    """The lines that `patch` reads, as they were printed after the table."""
    return out[out.index("--- ") :]


def test_a_bad_default_is_found_and_what_is_written_reaches_jobs_and_can_be_taken_back(place):
    """The file sends collectives over the slower network; then what was written, and the same difference backwards."""
    file = place / "cluster.yaml"
    clean = file.read_text()
    file.write_text(badly := clean + BADLY)
    try:
        code, out, err = wright(place, "tune", "network", *LEAST_OF_IT, "--write")
        better = file.read_text()
        told = told_to_jobs(place, "GLOO_SOCKET_IFNAME")
        applied = wright(place, "apply", "--yes")
        subprocess.run(["patch", "-R", "-p0"], cwd=place, input=difference(out), text=True, check=True)
        taken_back = file.read_text()
    finally:
        file.write_text(clean)

    assert code == 0, err
    assert set(told[0].split(",")) == {"compute"}
    assert better.replace(told[0], "management") == badly
    assert applied[0] == 0, applied[2]
    assert taken_back == badly
    assert f"{LEAST} of {LEAST} trials" in err


def test_where_nothing_helps_nothing_is_written(place):
    """One connection fills the line, so several are no better."""
    before = (place / "cluster.yaml").read_text()
    code, out, err = wright(place, "tune", "network", *LEAST_OF_IT, "--write")

    assert code == 0, err
    assert "nothing to set" in err
    assert "---" not in out.replace("─", "")
    assert (place / "cluster.yaml").read_text() == before


@pytest.mark.long
def test_a_slow_link_is_made_up_for_by_16_bits_where_that_is_allowed(place):
    """The training's own steps are measured; without leave it is refused, and the file stays as it is."""
    asked = (
        "tune",
        "training",
        "job.yaml",
        *LEAST_OF_IT,
        "--knobs",
        "gradients.compress",
        "--steps",
        "6",
        "--write",
    )
    refused = wright(place, *asked)
    kept = (place / "job.yaml").read_text()
    for host in ("gpu-node1", "gpu-node2"):
        lab.fault(NAME, "slow-link", host, network="compute", rate="10Mbit/s")
    try:
        code, _out, err = wright(place, *asked, "--allow-numbers")
        told = told_to_jobs(place, "CLUSTERWRIGHT_GRADIENT_COMPRESS")
    finally:
        lab.undo(NAME)
        (place / "job.yaml").write_text(JOB)

    assert refused[0] == 2
    assert "error[tune-knob]" in refused[2]
    assert kept == JOB
    assert code == 0, err
    assert told in (["bf16"], ["fp16"])
    assert "loss of the last measured step" in err


def test_what_cannot_be_is_refused(place):
    """A knob that there is not, a program that never calls `run.step`, and hosts that a job holds."""
    unknown = wright(place, "tune", "network", *LEAST_OF_IT, "--knobs", "SPEED")
    (place / "other.yaml").write_text(
        JOB.replace("recipe: gpt", "command: [-c, print(1)]").replace("arg", "# arg")
    )
    silent = wright(place, "tune", "training", "other.yaml", *LEAST_OF_IT)
    remote = remote_of(load_cluster(place / "cluster.yaml"))
    hold = as_user("sbatch --parsable --exclusive --nodes=2 --output=/dev/null --wrap='sleep 600'", "alice")
    job = remote.run("control", hold).out.strip()
    try:
        busy = wright(place, "tune", "training", "job.yaml", *LEAST_OF_IT, "--wait", "2s")
    finally:
        remote.run("control", f"scancel {job}")

    assert (unknown[0], silent[0], busy[0]) == (2, 1, 1)
    assert "there are GLOO_SOCKET_IFNAME" in unknown[2]
    assert "run.step of clusterwright.runtime" in silent[2]
    assert "error[bench-hosts-busy]" in busy[2]
    assert job in busy[2]
