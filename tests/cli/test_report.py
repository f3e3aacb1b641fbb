"""`wright report`: of a run that is here, its forms, and what is refused; of a cluster, in the lab's tests."""

import json
from pathlib import Path

import pytest

from clusterwright.cli.report import job, team
from clusterwright.config.load import load_cluster
from clusterwright.errors import WrightError
from clusterwright.i18n import in_language
from clusterwright.monitor import reports as made

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def run(tmp_path):
    """A run's folder with three steps."""
    folder = tmp_path / "gpt-20261121-120000"
    (folder / "events").mkdir(parents=True)
    (folder / "job.json").write_text("{}")
    rows = [
        {"time": 1, "event": "job_start", "job_id": "7", "hosts": ["a"], "ranks": 2},
        {"time": 2, "event": "generation_start", "generation": 1, "hosts": ["a"]},
        *(
            {"time": 2 + n, "event": "step", "step": n, "seconds": 1.0, "generation": 1, "rank": 0}
            for n in (1, 2, 3)
        ),
    ]
    (folder / "events" / "rank-00000.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_a_run_of_this_machine(run, capsys):
    """Where its time went; what nobody can say without Slurm is said."""
    assert job(str(run)) == 0
    shown = capsys.readouterr().out

    assert "Where the time went" in shown
    assert "not known: a folder has no data of Slurm and Prometheus" in shown


def test_all_forms(run, tmp_path, capsys):
    """A page, a table and JSON; text only where nothing else is asked."""
    with in_language("zh"):
        job(str(run), html=tmp_path / "r.html", csv=tmp_path / "r.csv")
    assert capsys.readouterr().out == ""
    job(str(run), json=True)

    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert '"时间去向","step",' in (tmp_path / "r.csv").read_text()
    assert json.loads(capsys.readouterr().out)["run"]["ledger"]["gpus"] == 2


def test_a_file_that_cannot_be_written(run):
    """Said with the system's reason."""
    with pytest.raises(WrightError, match="report-not-written"):
        job(str(run), html=run / "job.json" / "r.html")


@pytest.mark.parametrize("month", ["2026-13", "11-2026", "2026-1", "next", "2026-11-23", "9999-01"])
def test_what_is_no_month(month):
    """With how one is written."""
    with pytest.raises(WrightError, match="bad-month"):
        team(month=month, cluster=EXAMPLES / "lab" / "cluster.yaml")


def test_a_month_that_has_not_begun():
    """Nothing could be said of it."""
    with pytest.raises(WrightError, match="is in the future"):
        team(month="2098-01", cluster=EXAMPLES / "lab" / "cluster.yaml")


def test_months_follow_each_other():
    """The end of one is the beginning of the next."""
    assert made.month_bounds("2026-12")[1] == made.month_bounds("2027-01")[0]
    assert made.month_bounds("2028-02")[1] - made.month_bounds("2028-02")[0] == 29 * 86400


def test_prices(tmp_path):
    """The file's own; else what renting costs, said as such; none for a lab."""
    plain = EXAMPLES.parent / "bench" / "simulate.yaml"
    (tmp_path / "own.yaml").write_text(plain.read_text() + "\naccounting: {gpu_hour: 1.20, currency: EUR}\n")
    own, watts = made._of_gpus(load_cluster(tmp_path / "own.yaml"))
    market, _ = made._of_gpus(load_cluster(plain))

    assert (own.amount, own.currency) == (1.2, "EUR")
    assert watts == 400
    assert market.source.startswith("on-demand rental of a100")
    assert made._of_gpus(load_cluster(EXAMPLES / "lab" / "cluster.yaml")) == (None, 0.0)
