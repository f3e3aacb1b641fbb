"""`wright plan predict IN.csv`."""

import csv
import json
from pathlib import Path

import pytest

from clusterwright.cli.plan.predict import predict
from clusterwright.errors import WrightError

PUBLISHED = Path(__file__).parents[3] / "bench" / "accuracy" / "published"
ROW = "m,llama3-8b,H100,8,8192,64\n"
HEADER = "source,model,gpu_type,num_gpus,seq_len,global_batch\n"
BAD = "m,llama3-8b,H1000,8,8192,64\n"


def table(text=HEADER + ROW):
    """A table in this folder."""
    path = Path("in.csv")
    path.write_text(text)
    return path


def written():
    """The rows of the table that was written."""
    with Path("out.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_is_written_beside(capsys):
    """Talk on stderr, the table in its file, exit code 0."""
    assert predict(table(), out=Path("out.csv")) == 0

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("predicted 1 of 1 rows (training runs)\nwritten: out.csv\n")
    rows = written()
    assert float(rows[0]["predicted_iter_time_s"]) > 0


def test_without_out_the_table_is_data_on_stdout(capsys):
    """It may be piped."""
    assert predict(table()) == 0

    assert capsys.readouterr().out.startswith(HEADER.strip())


def test_a_bad_row_is_told_with_its_line_and_the_rest_predicted(capsys):
    """Exit code 1, the good row's prediction written."""
    assert predict(table(HEADER + BAD + ROW), out=Path("out.csv")) == 1

    said = capsys.readouterr().err
    assert "error[unknown-gpu]" in said
    assert "in.csv:2" in said
    assert "1 of 2" in said
    assert [bool(row["predicted_iter_time_s"]) for row in written()] == [False, True]


def test_as_json(capsys):
    """Counts and findings in one document."""
    assert predict(table(HEADER + BAD + ROW), out=Path("out.csv"), json=True) == 1

    document = json.loads(capsys.readouterr().out)
    assert (document["rows"], document["failed"]) == (2, 1)
    assert document["findings"][0]["code"] == "unknown-gpu"


def test_a_table_is_never_overwritten_by_its_predictions():
    """Not by its own name, nor by another name of the same file."""
    path = table()
    Path("same.csv").hardlink_to(path)

    for out in ("in.csv", "./in.csv", "same.csv"):
        with pytest.raises(WrightError) as caught:
            predict(path, out=Path(out))

        assert caught.value.findings[0].code == "predict-out-is-in"
    assert path.read_text() == HEADER + ROW


def test_a_table_without_needed_columns_writes_nothing():
    """All of them are named."""
    with pytest.raises(WrightError) as caught:
        predict(table("model,num_gpu\nx,1\n"), out=Path("out.csv"))

    assert {finding.code for finding in caught.value.findings} == {"predict-no-column"}
    assert len(caught.value.findings) == 4
    assert not Path("out.csv").exists()


def test_what_cannot_be_read_or_written():
    """Said with the path."""
    with pytest.raises(WrightError, match=r"nowhere\.csv"):
        predict(Path("nowhere.csv"))
    Path("folder").mkdir()
    with pytest.raises(WrightError, match="folder"):
        predict(table(), out=Path("folder"))


def test_gpus_of_ones_own(capsys):
    """A user's catalog is asked first."""
    own = Path("mine.toml")
    own.write_text('[gpus.b9000]\nlike = "b200"\nmemory = "256 GB"\nsource = "a dream"\n')

    assert predict(table(HEADER + "m,llama3-8b,b9000,8,8192,64\n"), out=Path("out.csv"), catalog=own) == 0
    assert "1 of 1" in capsys.readouterr().err
