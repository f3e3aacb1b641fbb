"""The report of one job."""

import json

import pytest

from clusterwright.i18n import bilingual
from clusterwright.monitor.records.record import AccountingRecord
from clusterwright.monitor.report import job as made
from clusterwright.monitor.report import page, sheets, text
from clusterwright.monitor.report.job_advice import advice, line
from clusterwright.monitor.report.job_facts import facts
from clusterwright.monitor.report.money import Price

GIB = 1 << 30
LEDGER = {
    "goodput": 0.5, "ettr": 0.45, "mttr_s": 30.0,
    "gpu_s": {"step": 7200.0, "stall": 600.0, "lost work": 6000.0, "queue": 99.0},
    "failures": [{}], "failures_by_kind": {"host-lost": 1},
    "checkpoint": {"stall_s": 0.4, "interval_s": 60.0, "best_interval_s": 600.0},
}  # fmt: skip
RUN = {
    "status": {
        "run": "gpt-1", "ledger": LEDGER,
        "failures": [{"reason": "host-lost", "first_failure": "host gpu-node2 was lost"}],
    },
    "slow": [[3, "gpu-node1", 1.5, 100.0, None, 40, 0.02]], "saves": [0.4, 0.5],
}  # fmt: skip

WAITING = {"workers": 2, "wanted": 3, "cpus": 8, "cpu_s": 20.0, "busy_s": 100.0}


def said(found):
    """All advice in English, as one text."""
    return "\n".join(advice(found))


def test_the_shape_is_that_of_jobstats(job, gpus):
    """Rows of the job, bars over all, bars for each GPU, notes."""
    values = gpus([0.9, 0.7, 0.0, 0.8]) | {
        "cpu_seconds": [({"node": "gpu-node1"}, 7200.0)], "cpus": [({"node": "gpu-node1"}, 8.0)],
        "memory": [({"node": "gpu-node1"}, 6.0 * GIB)], "memory_limit": [({"node": "gpu-node1"}, 64.0 * GIB)],
    }  # fmt: skip
    shown = text.text(made.report(job(values=values, run=RUN), "lab"))

    for line_ in (
        "User/Account: alice/vision", "CPU utilization                [||||||", "gpu-node1 (GPU 2)  [",
        "25%]  02:00:00/08:00:00",
        "6 GiB/64 GiB", "72 GiB/80 GiB",
        "3     gpu-node1  1.50              20 ms          40         yes",
        "host-lost  1      host gpu-node2 was lost", "ETTR 45%, goodput 50%, 1 failure, MTTR 30 s",
    ):  # fmt: skip
        assert line_ in shown, shown
    assert max(map(text.wide, shown.splitlines())) <= 130


@pytest.mark.parametrize(
    ("values", "run", "more", "words"),
    [
        ([0.9, 0.0], {}, {}, "1 of 2 GPUs were idle (gpu-node1:1): request 1"),
        ([0.3, 0.3], {}, {}, "GPUs were busy 30% of the time: find out what"),
        (
            [],
            RUN,
            {},
            "rank 3 on gpu-node1 took 1.50 times as long as the other ranks, which waited 20 ms per step",
        ),
        ([], RUN, {}, "43% of the GPU time went into repeated steps"),
        ([], RUN, {}, "checkpoints were 60 s apart; for the observed failures, 10 min is best"),
        ([], {}, {"state": "TIMEOUT"}, "the job reached its time limit of 01:12:00"),
        ([], {}, {"limit_s": 86400.0}, "the job ran 1 h with a time limit of 1 d"),
        ([], {}, {"state": "OUT_OF_MEMORY"}, "killed for lack of memory; it requested 64 GiB"),
        ([], {}, {"memory_used": 3 * GIB}, "3 GiB of 64 GiB of memory were used (5%)"),
        ([], {}, {"cpu_used_s": 2000.0}, "7% of the time of 8 CPUs was used"),
    ],
)
def test_what_is_advised(job, gpus, values, run, more, words):
    """Each with what was seen."""
    assert words in said(job(values=gpus(values) if values else {}, run=run, **more))


def test_a_larger_batch_where_memory_is_left(job, gpus):
    """Not where steps wait for data, nor where the memory is full."""
    few = gpus([0.3, 0.4], memory=0.2)

    assert "of its memory: use a larger batch" in said(job(values=few))
    assert "batch" not in said(job(values=gpus([0.3, 0.4], memory=0.9)))
    waits = {"reading": {"share": 0.3, "steps": 100, "wanted": 4, "workers": 1, "cpus": 8}}
    assert "batch" not in said(job(values=few, run=waits))
    assert "(reader processes: 1): use 4" in said(job(values=few, run=waits))


@pytest.mark.parametrize(
    ("reading", "data", "words"),
    [
        ({"workers": 2, "wanted": 9, "cpus": 4}, [], "9 reader processes are needed, and a rank has 4 CPUs"),
        (WAITING, [{"path": "/data/x", "stage": "shared"}], "(`stage: local` for /data/x)"),
        (WAITING, [{"path": "/data/x", "stage": "local"}], "(reader processes: 2): use 3"),
    ],
)  # fmt: skip
def test_steps_that_wait_for_data(job, reading, data, words):
    """More workers, more processors, or staging: as what read tells."""
    run = {"reading": {"share": 0.2, "steps": 50, **reading}, "record": {"data": data}}

    assert words in said(job(run=run))


TALKING = {"share": 0.3, "busy_s": 100.0, "steps": 200, "status": "measured", "hosts": 1}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({}, "30% of the step time was exposed communication (150 ms of 500 ms): accumulate gradients"),
        (
            {"hosts": 2},
            "(150 ms of 500 ms, on 2 hosts): check that the network has its full speed",
        ),
        ({"status": "bounded"}, "rank 0 waited 30% of the step time for the gradients of other ranks"),
    ],
)
def test_steps_that_wait_for_gradients(job, found, words):
    """With how much of a step it is; little of it, or few steps, are no reason for advice."""
    assert words in said(job(run={"communication": {**TALKING, **found}}))
    assert "gradients" not in said(job(run={"communication": {**TALKING, **found, "share": 0.05}}))
    assert "gradients" not in said(job(run={"communication": {**TALKING, **found, "steps": 5}}))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (TALKING, "communication not overlapped with computation: 30% of the time in steps"),
        (
            {**TALKING, "status": "bounded"},
            "rank 0 waited 30% of the time in steps for gradients of other ranks",
        ),
        ({"status": "alone"}, "communication: -, a single rank does not communicate"),
        ({"status": "sharded"}, "communication: -, not measured for a sharded model"),
        ({"status": "stages"}, "communication: -, not measured for pipeline stages"),
        (
            {"status": "other"},
            "communication: -, measured only where DistributedDataParallel reduces the gradients",
        ),
        ({"status": "measured"}, "communication: -, the run has no record of it"),
        ({"status": "<b>"}, "communication: -, the run has no record of it"),
        ({}, "communication: -, the run has no record of it"),
    ],
)
def test_communication_or_why_it_is_not_known(job, found, words):
    """A dash with the reason, never zero."""
    assert words in text.text(made.report(job(run={**RUN, "communication": found}), "lab"))


def test_memory_that_creeps_up(job):
    """A straight line, and not the first steps, nor one that is flat, nor noise."""
    creeping = [[step, (10 + step / 100) * GIB, 0, 0] for step in range(0, 1000, 20)]
    flat = [[step, (10 if step > 100 else step / 10) * GIB, 0, 0] for step in range(0, 1000, 20)]
    noise = [[step, (10 + 5 * (step % 40 > 0)) * GIB, 0, 0] for step in range(0, 1000, 20)]

    assert "memory grows by 10 GiB in 1,000 steps, from 12 GiB at step 200" in said(
        job(run={"memory": creeping})
    )
    assert "creeps" not in said(job(run={"memory": flat})) + said(job(run={"memory": noise}))
    assert line([(0, 0), (1, 2), (2, 4)]) == (2, 1)


def test_what_is_not_known_is_unknown(job):
    """No Prometheus, no run: dashes, the reason, and no advice about it."""
    shown = text.text(made.report(job(missing=("Prometheus: refused",)), "lab"))

    assert "unknown]" in shown
    assert "not known: Prometheus: refused" in shown
    assert "GPUs worked" not in shown


def test_a_hostile_name_is_harmless(job):
    """HTML, ANSI, newlines, right-to-left marks, and what a spreadsheet would compute."""
    name = "<script>alert(1)</script>\x1b[2J\n\u202egnp.exe"
    found = made.report(job(name=name, user="=1+1", values={"cpus": [({"node": "=cmd()"}, 1.0)]}), "lab")
    shown, html, table = text.text(found), page.page(found), sheets.table(found)

    assert not {"\x1b", "\u202e"} & set(shown + html + table)
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "'=cmd()" in table


def test_the_page_needs_nothing_beside_it(job, gpus):
    """No script, no address, both languages, and light as well as dark."""
    html = page.page(made.report(job(values=gpus([0.5]), run=RUN), "lab"))

    assert "http" not in html.replace("http-equiv", "")
    assert "<script" not in html
    assert f'<span lang="zh">{bilingual("What to change")[1]}</span>' in html
    assert "prefers-color-scheme: dark" in html
    assert html.count("<section") >= 5


def test_money_and_energy(job, gpus):
    """Four GPU hours; measured power, or what is rated, said to be that."""
    price = Price(2.5, "EUR", "the file")
    measured = text.text(made.report(job(values=gpus([0.5] * 4, watts=300.0)), "lab", price))
    rated = text.text(made.report(job(), "lab", price, 400.0))

    assert "10.00 EUR: 4 GPU hours at 2.5 EUR (the file)" in measured
    assert "1.2 kWh of the GPUs alone, from their measured power" in measured
    assert "at most 1.6 kWh of the GPUs alone: not measured" in rated
    assert "power was not measured" in text.text(made.report(job(), "lab"))


def test_the_newest_job_of_a_run_is_shown(record):
    """With the others named; memory is that of its own steps."""
    steps = [AccountingRecord("8.0", memory_used=5 * GIB), AccountingRecord("7.0", memory_used=50 * GIB)]
    found = facts([record("7"), record("8", start=9000.0)], steps, {}, {}, now=99999.0)

    assert (found.record.id, found.record.memory_used) == ("8", 5 * GIB)
    assert "Earlier jobs of the run: 7" in text.text(made.report(found, "lab"))


def test_nothing_known_is_nothing():
    """No record, no run."""
    assert facts([], [], {}, None, now=0.0) is None


def test_all_of_it_is_json(job, gpus):
    """With a schema, numbers as numbers."""
    data = json.loads(json.dumps(made.report(job(values=gpus([0.5, 0.25]), run=RUN), "lab").data))

    assert (data["schema"], data["gpu_ratio"], data["run"]["ledger"]["goodput"]) == (1, 0.375, 0.5)
