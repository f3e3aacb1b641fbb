"""The tables that nothing is fitted on, and the script that predicts them."""

import csv
import re
from pathlib import Path

import pytest
from bench.accuracy import unseen_sources as unseen
from bench.accuracy.scores import Off
from bench.accuracy.unseen_sources import KINDS, Answered, answered, lines, offs

BENCH = Path(__file__).parents[2] / "bench" / "accuracy"
TABLES = sorted((BENCH / "unseen").glob("*.csv"))


def rows_of(path):
    """A table's rows."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def predicted():
    """Every row that is scored."""
    return answered()


def test_no_source_was_fitted_on():
    """Neither a source's name nor a document of the fitted tables is here."""
    fitted = [row for path in (BENCH / "published").glob("*.csv") for row in rows_of(path)]
    held = [row for path in TABLES for row in rows_of(path)]
    names = {row["source"] for row in fitted}
    links = {row["notes_url"].rsplit("; ", 1)[-1] for row in fitted}

    assert held
    assert {row["source"] for row in held} & names == set()
    assert {row["notes_url"].rsplit("; ", 1)[-1] for row in held} & links == set()


def test_no_fitting_script_reads_it():
    """What fits coefficients names this folder nowhere; what scores them may."""
    words = re.compile(r"import unseen|unseen_sources|[\"/]unseen")
    scripts = [*BENCH.glob("fit_*.py"), *BENCH.glob("speed_*.py")]

    assert len(scripts) > 5
    assert [path.name for path in scripts if words.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_every_row_has_a_source_a_document_and_a_number(path):
    """Columns are those of the fitted tables of its sort."""
    like = {"nccl": "nccl_measured", "cnn": "cnn_training"}.get(path.stem, "megatron_lm")
    rows = rows_of(path)
    measured = [name for name in rows[0] if name.startswith(("measured_", "busbw", "samples_per_s_total"))]

    assert list(rows[0]) == list(rows_of(BENCH / "published" / f"{like}.csv")[0])
    for row in rows:
        assert row["source"]
        assert "http" in row["notes_url"] or "as stored" in row["notes_url"]
        assert any(row[name] for name in measured)


def test_every_scored_row_is_predicted(predicted):
    """A refusal would be an error of the reader of rows."""
    assert [one.row["prediction_note"] for one in predicted if one.refused] == []
    assert "suspect" not in {one.row.get("status") for one in predicted}


def test_there_are_enough_rows_of_each_kind(predicted):
    """Sixty runs of six sources, thirty collectives of three, twenty networks."""
    found = offs(predicted)
    runs, large = ([each for each in found if each.group == kind] for kind in (KINDS[0], KINDS[2]))

    assert len(runs) >= 60
    assert len({each.source for each in runs}) >= 6
    assert len(large) >= 30
    assert len({each.source for each in large}) >= 3
    assert sum(each.group == KINDS[4] for each in found) >= 20
    assert sum(each.group == KINDS[1] for each in found) >= 20


def test_a_run_is_held_against_its_tokens_a_second(predicted):
    """Seconds measured are the step's tokens over those of all GPUs in a second."""
    one = next(each for each in predicted if each.file == "dlperf.csv")
    row = {**one.row, "measured_iter_time_s": "", "measured_tokens_per_s_per_gpu": "1024", "num_gpus": "1"}

    (off,) = offs([Answered("dlperf.csv", row)])

    assert off.measured == pytest.approx(2 * 2048 / 1024)
    assert off.predicted == pytest.approx(float(row["predicted_iter_time_s"]))


def test_a_refused_row_is_not_scored():
    """It has no numbers."""
    one = Answered("x.csv", {"prediction_note": "error[predict-no-gpu]: the row names no GPU"})

    assert one.refused
    assert offs([one]) == []


def test_lines_are_of_kinds_sources_and_all():
    """Two sources of one kind make three lines."""
    rows = [
        Off("a", "x", 1.1, 1.0, inside=True, group=KINDS[0]),
        Off("b", "y", 0.5, 1.0, inside=False, group=KINDS[0]),
    ]

    found = list(lines(rows))

    assert [line["source"] for line in found] == ["a", "b", "all"]
    assert found[2]["rows"] == 2
    assert found[2]["inside"] == pytest.approx(0.5)
    assert found[2]["worst"] == "y"
    assert found[2]["worst_error"] == pytest.approx(-0.5)


def test_the_script_prints_every_source(capsys, monkeypatch):
    """As a table, and with --json as a document."""
    monkeypatch.setattr("sys.argv", ["unseen.py"])

    assert unseen.main() == 0
    said = capsys.readouterr().out

    assert all(row["source"][:60] in said for row in rows_of(BENCH / "unseen" / "dlperf.csv"))
    assert "refused" not in said
