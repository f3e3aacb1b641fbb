"""What a job says at its end."""

import json

from clusterwright.onhost.supervisor.folder import Events, Folder
from clusterwright.onhost.supervisor.goodput import closing


def test_the_ledger_is_said_and_kept(tmp_path):
    """The lines first, then the file, whole."""
    folder, said = Folder(str(tmp_path)), []
    events = Events(folder, "supervisor-1", "a")
    events.write("job_start", 0, job_id="1", hosts=["a"], ranks=2)
    events.write("job_end", 0, outcome="failed")
    closing.close(folder, lambda line: said.append((line, (tmp_path / "ledger.json").exists())))

    assert said[0][0].startswith("goodput: 2 GPUs for 0.0")
    assert not any(there for _, there in said)
    assert json.loads((tmp_path / "ledger.json").read_text())["gpus"] == 2


def test_what_is_in_the_way_is_said(tmp_path):
    """A run's end does not fail for want of its report."""
    folder, said = Folder(str(tmp_path)), []
    (tmp_path / "events" / "a.jsonl").write_text('{"time": 1, "event": "job_start", "ranks": "many"}\n')
    closing.close(folder, said.append)

    assert said == [
        "cannot compute the goodput accounting: ValueError: invalid literal for int() with base 10: 'many'"
    ]
