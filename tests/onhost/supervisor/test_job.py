"""job.json of each version, and of a newer one."""

from pathlib import Path

import pytest

from clusterwright.onhost.supervisor.job import SCHEMA, InvalidRecordError, read_record

DATA = Path(__file__).parents[2] / "data" / "formats"


def test_the_record_of_each_version_is_read(tmp_path):
    """Without a number it is the first."""
    files = sorted(DATA.glob("job-*.json"))
    for file in files:
        (tmp_path / "job.json").write_bytes(file.read_bytes())
        assert read_record(str(tmp_path)).job.name == "gpt"

    assert len(files) == SCHEMA


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"schema": 2}', "has schema 2; this version reads 1"),
        ("{", "job.json: "),
        ("[" * 60_000, "job.json: "),
    ],
)
def test_a_record_that_cannot_be_read_names_itself(tmp_path, text, says):
    """Of a newer version, torn, or nested beyond the parser's limit: the run ends with this message."""
    (tmp_path / "job.json").write_text(text)

    with pytest.raises(InvalidRecordError, match=says):
        read_record(str(tmp_path))
