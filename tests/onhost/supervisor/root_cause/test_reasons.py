"""The reason of a failure, as `status` shows it, is never a line of `=` or of another rule."""

import json
import re

import pytest

from clusterwright.onhost.runs import run_state
from clusterwright.onhost.supervisor.host.generation import Generation
from clusterwright.onhost.supervisor.root_cause.exits import describe_exit
from clusterwright.onhost.supervisor.root_cause.first_failure import describe_failure

RULE = re.compile(r"([^\w\s])\1{3}|_{4}")
RULES = ["=" * 60, "-" * 74, "#" * 40, "~" * 20, "*" * 12, "═" * 40, "==== ====", "_" * 30]
LOGS = {
    "an exception that is a rule": 'Traceback (most recent call last):\n  File "a.py"\nValueError: {rule}\n',
    "an exception between rules": "{rule}\nValueError: bad batch\n{rule}\n",
    "a message between rules": "{rule}\nno file at /data/train.bin\n{rule}\n\n",
    "rules alone": "{rule}\n{rule}\n",
    "C++ with a rule": "terminate called\n  what():  {rule}\n{rule}\n",
    "the summary of torchrun": "{rule}\ntrain.py FAILED\n  exitcode  : 2 (pid: 42)\n{rule}\n",
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("code", [1, 2, -6, 137])
@pytest.mark.parametrize("by_launcher", [False, True])
def test_a_reason_is_no_rule(tmp_path, rule, name, code, by_launcher):
    """Whatever the log ends in, also that of a launcher; the exit code or the signal remains."""
    (tmp_path / ("launcher.log" if by_launcher else "0.err")).write_text(LOGS[name].format(rule=rule))
    generation = Generation(
        number=1,
        hosts=("n1",),
        host="n1",
        ranks=1,
        address="n1",
        port=1,
        local_address="",
        interface="",
        restarts=0,
        log_dir=str(tmp_path),
        run=str(tmp_path),
    )
    message = {"exited": 1, "local_rank": 0, "code": code, "message": ""}
    reason = describe_failure(
        {"event": "rank_exit", **describe_exit(message, generation, by_launcher=by_launcher)}
    )

    assert any(map(str.isalnum, reason))
    assert not RULE.search(reason)


def test_a_reason_that_a_file_has_is_no_rule(tmp_path):
    """As an earlier release may have written it."""
    (tmp_path / "job.json").write_text("{}")
    (tmp_path / "ended.json").write_text(json.dumps({"outcome": "failed", "code": 1, "reason": "=" * 60}))

    assert run_state.read_state(str(tmp_path), [])[:2] == ("failed", "")
