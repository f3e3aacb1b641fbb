"""Hosts that cannot take part in a training: each problem names its host and its fix."""

import pytest

from clusterwright.edge.processes import CommandResult
from clusterwright.launch.hosts import preflight
from clusterwright.launch.hosts.preflight import difference_problems, host_problems, notes_of

FIT = {
    "sees_token": True, "writes_folder": True, "python": "3.11.2", "torch": "2.5.1", "gpus": [], "driver": "",
    "addresses": [], "reached_at": [], "ends_sessions": False, "user": 1000, "time": 1.0, "skew_s": 0.1,
}  # fmt: skip
A100 = ["NVIDIA A100-SXM4-80GB"]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({}, None),
        ({"gpus": A100 * 8}, None),
        ({"sees_token": False}, "does not see /shared/runs of this machine"),
        ({"writes_folder": False}, "the user id 1000 on this host, which cannot write /shared/runs"),
        ({"torch": None}, "the host's Python has no PyTorch"),
        ({"gpus": A100}, "the host has 1 GPUs, the job needs 2"),
        ({"ends_sessions": True}, "ends all processes of a user with the session"),
    ],
)
def test_a_host_is_unfit_for_one_reason(a_job, facts, message):
    """A host without any GPU may train on its CPUs."""
    problems = list(host_problems("h2", {**FIT, **facts}, a_job(gpus_per_node=2), "/shared/runs"))

    assert [
        problem.message for problem in problems if message is None or message not in problem.message
    ] == []
    assert len(problems) == (message is not None)
    assert all(problem.fix and problem.finding().message.startswith("h2: ") for problem in problems)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"python": "3.11.9"}, []),
        ({"python": "3.12.1"}, ["h2: Python 3.12 differs from 3.11 on h1"]),
        ({"torch": "2.6.0"}, ["h2: PyTorch 2.6.0 differs from 2.5.1 on h1"]),
        ({"gpus": A100}, ["h1: the host has no GPU, but h2 has"]),
    ],
)
def test_hosts_must_not_differ(facts, expected):
    """Ranks of different versions fail, or worse, do not."""
    problems = list(difference_problems({"h1": FIT, "h2": {**FIT, **facts}}))

    assert [problem.finding().message for problem in problems] == expected


def test_what_may_surprise_is_a_note(a_job):
    """A clock that is off, different GPUs, no GPUs."""
    other = {**FIT, "skew_s": -7.0, "gpus": ["NVIDIA H100 80GB HBM3"]}
    texts = [note.text for note in notes_of({"h1": {**FIT, "gpus": A100}, "h2": other}, a_job())]

    assert texts[0].startswith("the clock of h2 is -7.0 s off")
    assert "NVIDIA A100-SXM4-80GB, NVIDIA H100 80GB HBM3" in texts[1]
    assert "ranks on each host use its CPUs" in next(note.text for note in notes_of({"h1": FIT}, a_job()))


@pytest.mark.parametrize(
    ("code", "err", "message", "fix"),
    [
        (
            255,
            "a@h2: Permission denied (publickey,password).",
            "without a password: a@h2: Permission",
            "ssh-copy-id h2",
        ),
        (255, "Host key verification failed.", "no SSH host key of h2 is known", "ssh h2"),
        (
            127,
            "sh: 1: /opt/env/bin/python: not found",
            "there is no /opt/env/bin/python",
            "environment.python",
        ),
        (1, "ImportError: no ssl", "/opt/env/bin/python fails: ImportError: no ssl", "by hand"),
    ],
)
def test_a_host_that_does_not_answer_says_why(code, err, message, fix):
    """In the words of ssh or of the shell."""
    problem = preflight._failed(CommandResult((), code, "", err, 0.1), "h2", "/opt/env/bin/python")

    assert (message in problem.message, fix in problem.fix) == (True, True)
