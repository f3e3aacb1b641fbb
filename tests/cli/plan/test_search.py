"""`wright plan search`."""

import json as reader
from pathlib import Path

import pytest

from clusterwright.cli.plan._inputs import MachineOptions, Work
from clusterwright.cli.plan.search import FixedSizes, search
from clusterwright.config.load import job_of
from clusterwright.config.reader import read
from clusterwright.errors import WrightError

TEMPLATES = Path(__file__).parents[3] / "src" / "clusterwright" / "config" / "templates"
WORK = Work(model="llama3-70b", seq=8192, global_batch=1024)
WHERE = MachineOptions(gpu="h100-sxm-80gb", gpus=512)


def test_the_best_and_why_not_the_others_are_told(capsys):
    """Headline, best, runner-up, table, families with reasons, and a section for job.yaml; counts are talk."""
    assert search(work=WORK, machine_options=WHERE) == 0

    said = capsys.readouterr()
    for words in (
        "llama3-70b (70.6B parameters)", "512 x h100-sxm-80gb", "\nbest ", "\nrunner-up ", "% slower; ",
        "ZeRO/FSDP", "does not fit: ", "Pareto front of time and memory", "parallel:\n  tensor: ",
    ):  # fmt: skip
        assert words in said.out
    assert "layouts in" in said.err
    assert "\x1b[" not in said.out


def test_the_section_is_taken_by_a_job_file(elsewhere):
    """The file of --out, with a name, a command and a time, is a good job."""
    out = elsewhere / "cut.yaml"
    search(work=WORK, machine_options=WHERE, out=out, json=True)
    text = "name: llama\ncommand: [train.py]\ntime: 12h\n" + out.read_text()
    job = job_of(read(text.encode(), "job.yaml"))

    assert job.nodes * job.gpus_per_node == 512
    assert job.parallel.replica * job.parallel.data == 512


def test_json_holds_everything_in_base_units(capsys):
    """One document: the best, the ranked, families, the Pareto set and the counts."""
    search(work=WORK, machine_options=WHERE, json=True, top=3)
    said = reader.loads(capsys.readouterr().out)
    best = said["best"]

    assert best["layout"]["dp"] * best["layout"]["tp"] * best["layout"]["pp"] * best["layout"]["cp"] == 512
    assert sum(best["time_s"].values()) == pytest.approx(best["iter_time_s"])
    assert len(said["ranked"]) == 3
    assert said["ranked"][0] == best
    counts = said["counts"]
    assert counts["considered"] == counts["too_large"] + counts["bounded"] + counts["evaluated"]
    assert said["runner_up"]["reason"]


def test_nothing_fits_is_a_failure_with_remedies(capsys):
    """Exit code 1; what is lacking and what would help is said."""
    small = MachineOptions(gpu="h100-sxm-80gb", gpus=2)

    assert search(work=WORK, machine_options=small) == 1
    said = capsys.readouterr().out
    assert "no layout fits" in said
    assert "GPUs: fits" in said


def test_a_page_is_written(elsewhere):
    """Self-contained, in both languages, also where nothing fits."""
    for gpus, words in ((64, "Time over memory"), (2, "What would help")):
        html = elsewhere / f"{gpus}.html"
        search(
            work=WORK, machine_options=MachineOptions(gpu="h100-sxm-80gb", gpus=gpus), html=html, json=True
        )

        assert words in html.read_text()
        assert "显存" in html.read_text()
        assert "http" not in html.read_text().replace("http://www.w3.org", "")


def test_a_cluster_file_names_the_machines(capsys):
    """The HGX template has 128 H100; fewer can be asked."""
    where = MachineOptions(cluster=TEMPLATES / "hgx.yaml", gpus=64)

    assert search(work=Work(model="llama3-8b", seq=8192, global_batch=128), machine_options=where) == 0
    assert "64 x h100-sxm-80gb" in capsys.readouterr().out


def test_everything_wrong_is_told_at_once():
    """Unknown model and GPU, a rate without a unit, sizes that are none."""
    work = Work(model="llama3-71b", seq=0, global_batch=-4)
    where = MachineOptions(gpu="h100-smx", gpus=0, nic_rate="400")
    with pytest.raises(WrightError) as told:
        search(work=work, machine_options=where)
    codes = [one.code for one in told.value.findings]

    assert told.value.exit_code == 2
    assert {"unknown-model", "plan-bad-size"} <= set(codes)
    assert codes.count("plan-bad-size") == 3


def test_no_machines_are_an_error():
    """Neither a GPU nor a cluster file."""
    with pytest.raises(WrightError, match="plan-no-machine"):
        search(work=WORK, machine_options=MachineOptions(gpus=8))


def test_a_size_that_does_not_divide_is_an_error():
    """Eight key-value heads cannot be cut by 16."""
    with pytest.raises(WrightError, match="8 kv heads"):
        search(work=WORK, machine_options=WHERE, fixed_sizes=FixedSizes(tp=16))
