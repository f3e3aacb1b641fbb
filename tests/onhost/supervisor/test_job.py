"""job.json of each version, and of a newer one."""

import json
from pathlib import Path

import pytest

from clusterwright.config.job import Job
from clusterwright.onhost.supervisor import job
from clusterwright.onhost.supervisor.job import MIGRATIONS, SCHEMA, InvalidRecordError, read_record
from clusterwright.onhost.supervisor.job_fields import JobFields

DATA = Path(__file__).parents[2] / "data" / "formats"
FIRST = DATA / "job-1.json"


def test_the_record_of_each_version_is_read(tmp_path):
    """Without a number it is the first."""
    files = sorted(DATA.glob("job-*.json"))
    for file in files:
        (tmp_path / "job.json").write_bytes(file.read_bytes())
        assert read_record(str(tmp_path)).job.name == "gpt"

    assert len(files) == SCHEMA == 1 + len(MIGRATIONS)


@pytest.mark.parametrize(
    "section", ["recovery", "checkpoint", "warm", "trackers", "sweep", "outer", "launcher"]
)
def test_a_field_that_the_version_of_the_run_did_not_have_has_its_default(tmp_path, section):
    """So that a successor job continues after an upgrade of the library."""
    document = json.loads(FIRST.read_text())
    del document["job"][section]
    (tmp_path / "job.json").write_text(json.dumps(document))
    values = getattr(read_record(str(tmp_path)).job, section)
    expected = Job(name="a", command=("b",), time="1h").model_dump(mode="json")[section]

    assert json.loads(json.dumps(_plain(values))) == expected


def _plain(value):
    """A named tuple as an object of JSON, nested ones included."""
    if hasattr(value, "_asdict"):
        return {name: _plain(inner) for name, inner in value._asdict().items()}
    return value


def test_an_older_record_is_migrated(tmp_path, monkeypatch):
    """From each schema to the next."""

    def rename(document):
        name = document.pop("old_name")
        return {**document, "run": name}

    monkeypatch.setattr(job, "SCHEMA", 2)
    monkeypatch.setattr(job, "MIGRATIONS", (rename,))
    document = json.loads(FIRST.read_text())
    document["old_name"] = document.pop("run")
    (tmp_path / "job.json").write_text(json.dumps(document))

    assert read_record(str(tmp_path)).run == document["old_name"]
    (tmp_path / "job.json").write_text("{}")
    with pytest.raises(InvalidRecordError, match="is damaged: KeyError"):
        read_record(str(tmp_path))


def test_every_optional_field_of_a_job_file_has_a_default_on_hosts():
    """A field without one would refuse the records of runs from before it existed."""
    required = {name for name, field in Job.model_fields.items() if field.is_required()}

    assert set(JobFields._fields) - set(JobFields._field_defaults) == required


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"schema": 2}', "has schema 2; this version reads up to 1: a newer version submitted the run"),
        ("{", "job.json: "),
        ("[" * 60_000, "job.json: "),
    ],
)
def test_a_record_that_cannot_be_read_names_itself(tmp_path, text, says):
    """Of a newer version, torn, or nested beyond the parser's limit: the run ends with this message."""
    (tmp_path / "job.json").write_text(text)

    with pytest.raises(InvalidRecordError, match=says):
        read_record(str(tmp_path))
