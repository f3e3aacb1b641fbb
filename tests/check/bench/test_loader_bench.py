"""The bench of data loading: a real DataLoader on this machine, and hosts judged by their best number of workers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import clusterwright.onhost.bench as folder
from clusterwright.check.bench.kinds.loader import figures, loader
from clusterwright.check.bench.stage import StageAnswer
from clusterwright.i18n import in_language

PROGRAM = Path(folder.__file__).parent / "loader.py"


@pytest.mark.train
def test_a_real_loader_reads_every_sample_and_leaves_nothing(tmp_path):
    """Files and shards, warm and where it can be told cold, with no workers and up to the cores that there are."""
    asked = {"folder": str(tmp_path), "samples": 64, "sample_bytes": 8192, "shards": 4}
    done = subprocess.run(
        [sys.executable, PROGRAM], input=json.dumps(asked), capture_output=True, text=True, timeout=280, check=True
    )  # fmt: skip

    rates = json.loads(done.stdout)["rates"]
    cores = min(16, len(os.sched_getaffinity(0)))
    assert {row["kind"] for row in rates} == {"files", "shards"}
    assert {row["cache"] for row in rates} - {"cold"} == {"warm"}
    assert {row["workers"] for row in rates} == {
        0,
        *(1 << power for power in range(5) if 1 << power <= cores),
    }
    assert all(row["samples_per_s"] > 0 for row in rates)
    assert list(tmp_path.iterdir()) == []


def answers(rate):
    """`rate(host, workers)` samples a second of both kinds, warm."""

    def answer(host, _part, _asked, _stage):
        rows = [
            {"kind": kind, "cache": "warm", "workers": workers, "samples_per_s": rate(host, workers)}
            for kind in ("files", "shards")
            for workers in (0, 1, 2)
        ]
        return StageAnswer(0, json.dumps({"rates": rows, "sample_bytes": 1000}), "")

    return answer


def told(outcome):
    """Status by subject and part."""
    return {(each.subject, each.part): each.status.value for each in outcome.verdicts}


def test_equal_hosts_are_well_and_the_best_number_of_workers_is_told(site):
    """One verdict for each host and kind, whatever the numbers of workers; bytes follow from the size of a sample."""
    outcome = loader(site(answers(lambda _host, workers: 100.0 * (workers + 1))))

    assert {*told(outcome).values()} == {"ok"}
    assert len(outcome.verdicts) == 8
    assert len(outcome.measurements) == 24
    assert outcome.notes == (
        "samples from files, warm: 300 /s, 300 kB/s on the median host; fastest with 2 workers on gpu-node[1-4]",
        "samples from shards, warm: 300 /s, 300 kB/s on the median host; fastest with 2 workers on gpu-node[1-4]",
    )


def test_a_host_that_is_fed_slowly_is_a_warning(site):
    """After all were measured again; one that does better with other workers is none."""
    rates = {"gpu-node2": (10.0, 20.0, 30.0), "gpu-node3": (300.0, 10.0, 10.0)}
    outcome = loader(made := site(answers(lambda host, n: rates.get(host, (100.0, 200.0, 300.0))[n])))

    assert {host for (host, _), status in told(outcome).items() if status != "ok"} == {"gpu-node2"}
    assert len(made.stage.orders) == 2
    assert "0 workers on gpu-node3; 2 workers on gpu-node[1-2,4]" in outcome.notes[0]


def test_a_sample_that_is_not_what_was_written_is_unknown_and_quoted(site):
    """A folder that returns other bytes is not measured as fast."""
    why = "ValueError: sample 3 of /shared/x is not what was written"
    outcome = loader(site(lambda *_: StageAnswer(1, "", why)))

    assert {each.status.value for each in outcome.verdicts} == {"unknown"}
    assert why in outcome.verdicts[0].observed


def test_figures_keep_the_number_of_workers():
    """So that two benches are compared number by number."""
    row = {"kind": "files", "cache": "cold", "workers": 4, "samples_per_s": 5.0}
    (found,) = figures(StageAnswer(0, json.dumps({"rates": [row], "sample_bytes": 10}), ""))

    assert (found.quantity, found.value) == ("samples from files, cold", 5.0)
    assert found.conditions == {"workers": 4, "sample_bytes": 10}


def test_a_quantity_has_the_same_name_in_all_languages():
    """So that a bench of Chinese output is compared with one of English output."""
    row = {"kind": "files", "cache": "cold", "workers": 4, "samples_per_s": 5.0}
    with in_language("zh"):
        (found,) = figures(StageAnswer(0, json.dumps({"rates": [row], "sample_bytes": 10}), ""))

    assert found.quantity == "samples from files, cold"
