"""What is said of a rank that ended."""

import pytest

from clusterwright.onhost.supervisor.host.generation import Generation
from clusterwright.onhost.supervisor.root_cause.exits import describe_exit


@pytest.fixture
def second(tmp_path):
    """The second of two hosts with two ranks each."""
    return Generation(
        number=1, hosts=("a", "b"), host="b", ranks=2, address="10.0.0.1", port=1, local_address="10.0.0.2",
        interface="lo", restarts=3, log_dir=str(tmp_path), run="/run",
    )  # fmt: skip


def exited(code, words=""):
    """As the ranks of a host tell of local rank 1."""
    return {"exited": 1, "local_rank": 1, "code": code, "message": words}


def test_its_log_says_why_it_left(second, tmp_path):
    """The rank that the others know it by, and the exception at the end of its log."""
    (tmp_path / "1.err").write_text("Traceback (most recent call last):\n  File\nOwn: of mine\n")
    found = describe_exit(exited(1), second)

    assert (found["rank"], found["message"]) == (3, "Own: of mine")


def test_its_own_words_count_more(second, tmp_path):
    """It told them itself, before it unwound."""
    (tmp_path / "1.err").write_text("OSError: another\n")

    assert describe_exit(exited(1, "KeyError: 'x'"), second)["message"] == "KeyError: 'x'"


def test_a_killed_rank_has_a_signal_and_no_invented_words(second, tmp_path):
    """The last line of its log is not why it was killed."""
    (tmp_path / "1.err").write_text("epoch 2 begins\n")
    found = describe_exit(exited(-9), second)

    assert (found["signal"], found["message"]) == (9, "")


def test_one_that_left_is_quoted(second, tmp_path):
    """A program that is not Python says why in its last line."""
    (tmp_path / "1.err").write_text("cannot open train.bin\n\n")

    left = describe_exit(exited(3), second)
    assert (left["message"], left["cause"]) == ("exited with 'cannot open train.bin'", "exit")


def test_one_that_left_with_a_frame_is_quoted_without_it(second, tmp_path):
    """The lines of `=` and of box characters around a message are no reason of a run."""
    (tmp_path / "1.err").write_text(f"{'=' * 70}\ncannot open train.bin\n{'=' * 70}\n╰──────╯\n\n")

    assert describe_exit(exited(3), second)["message"] == "exited with 'cannot open train.bin'"


def test_without_a_log_nothing_is_said(second):
    """The code is all that is known."""
    assert describe_exit(exited(3), second)["message"] == ""


def test_torchrun_is_no_rank(second, tmp_path):
    """Its own log is read, and no rank is named."""
    (tmp_path / "launcher.log").write_text("RuntimeError: it\n")
    found = describe_exit(exited(1), second, by_launcher=True)

    assert "rank" not in found
    assert found["message"] == "RuntimeError: it"
