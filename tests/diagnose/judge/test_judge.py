"""The first cause is named, and not what followed from it."""

import pytest

from clusterwright.diagnose.judge import Observations, judge
from clusterwright.diagnose.knowledge import Knowledge
from clusterwright.diagnose.mode import tables
from clusterwright.diagnose.reading import of_text, read
from clusterwright.i18n import bilingual, in_language

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
CLOSED = "node1:12:34 [0] NCCL WARN Connection closed by remote peer node2<40000>"
GAP = "step\n" * 100


def first(diagnoses):
    """Mode of the likeliest."""
    return diagnoses[0].mode


def test_a_cause_comes_before_what_followed_from_it_wherever_it_stands(told):
    """Seven ranks say that a peer is gone; one says why."""
    others = [f"{CLOSED}\n{'Sending process closing signal SIGTERM'}\n" * 3] * 7

    diagnoses = told(*others, "step 1\n" + OOM)

    assert first(diagnoses) == "gpu-oom/out-of-memory"
    assert {each.role for each in diagnoses[1:]} <= {"root", "cascade", "teardown"}
    assert diagnoses[1].confidence < diagnoses[0].confidence


def test_what_follows_says_what_it_is_where_nothing_else_is_known(told):
    """With little confidence."""
    (only,) = told(CLOSED)

    assert (only.mode, only.role) == ("network-connectivity/closed", "cascade")
    assert only.confidence <= 0.4


def test_the_end_of_a_run_alone_is_what_it_is(told):
    """A signal that a launcher sent is no cause."""
    (only,) = told("Sending process closing signal SIGTERM")

    assert only.role == "teardown"
    assert only.confidence < 0.3


def test_the_harmless_is_no_cause(told):
    """Beside a cause it is not named at all; alone it is said to be harmless."""
    harmless = "ERROR: failed to poll a port that nobody uses"

    assert [each.mode for each in told(f"{harmless}\n{GAP}{OOM}")][:1] == ["gpu-oom/out-of-memory"]
    assert [each.role for each in told(harmless)] == ["benign"]


def test_the_earlier_of_two_causes_wins(told):
    """By the order of lines where there are no stamps."""
    full = "OSError: No space left on device"

    assert first(told(f"{full}\n{GAP}{OOM}")) == "storage-full/no-space"
    assert first(told(f"{OOM}\n{GAP}{full}")) == "gpu-oom/out-of-memory"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-01-02T03:00:00", "2026-01-02T03:00:09"),
        ("2026-01-02T03:00:00Z", "2026-01-02T04:00:09+01:00"),
        ("Jan  2 03:00:00", "Jan  2 03:00:09"),
    ],
)
def test_stamps_say_who_came_first_in_logs_of_several_hosts(told, one, other):
    """In any zone; the names of the logs do not matter."""
    full = "OSError: No space left on device"

    assert first(told(f"{one} {full}", f"{other} {OOM}")) == "storage-full/no-space"
    assert first(told(f"{other} {full}", f"{one} {OOM}")) == "gpu-oom/out-of-memory"


def test_clocks_that_cannot_be_compared_are_not(told):
    """A stamp with a zone and one without may be hours apart: both causes are given."""
    diagnoses = told(f"2026-01-02T03:00:00Z {OOM}", "2026-01-02 03:00:09 No space left on device")

    assert {each.mode for each in diagnoses} == {"gpu-oom/out-of-memory", "storage-full/no-space"}
    assert abs(diagnoses[0].confidence - diagnoses[1].confidence) < 0.4


def test_what_takes_any_exception_gives_way_to_what_knows_it(told):
    """However late that is."""
    diagnoses = told(
        f"ValueError: x\n{GAP}RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error."
    )

    assert first(diagnoses) == "shm/bus-error"


def test_an_exception_that_nothing_else_knows_is_the_cause(told):
    """With the confidence of what is general."""
    (only,) = told("ValueError: shapes do not fit")

    assert only.kind == "user-code"
    assert only.confidence < 0.6


def test_the_peer_that_several_blame_is_the_subject(told):
    """And the host that is not to be given out again."""
    logs = [f"[rank{rank}]: Connect to peer node7 failed" for rank in range(5)]

    (only,) = told(*logs, "[rank5]: Connect to peer node3 failed")

    assert only.subject["host"] == "node7"
    assert only.exclude == "node7"
    assert only.cause == "node7 cannot be reached."


def test_one_rank_alone_does_not_make_its_peer_the_host(told):
    """It may be its own link."""
    (only,) = told("[rank0]: Connect to peer node7 failed")

    assert only.subject == {"rank": "0", "peer": "node7"}
    assert only.exclude == ""


def test_a_witness_confirms(told):
    """Its line is quoted, and the confidence is higher."""
    (alone,) = told("archive is cut short")
    (sure,) = told("archive is cut short\nsize of the file is 0\n")

    assert sure.confidence > alone.confidence
    assert [each.line for each in sure.evidence] == [1, 2]


def test_another_mode_rules_out(told):
    """A checkpoint that is short because the disk was full is a full disk."""
    diagnoses = told("archive is cut short\nNo space left on device\n")

    assert [each.mode for each in diagnoses] == ["storage-full/no-space", "checkpoint-corrupt/short"]
    assert diagnoses[1].confidence < 0.3


def test_one_text_with_two_causes_gives_both(told):
    """The likelier first; and what the context rules out comes last."""
    both = told("loss is not a number")
    decided = told("loss is not a number\nother GPU agrees\n")

    assert [each.mode for each in both] == ["numerical/nan-a", "gpu-hardware/nan-b"]
    assert first(decided) == "gpu-hardware/nan-b"


def test_what_is_not_known_is_said_not_to_be(told):
    """With the traceback's last line, and no confidence."""
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\nmarvin.Depressed: life\n  at 42\n'

    (only,) = told(text)

    assert (only.kind, only.mode, only.confidence) == ("unknown", "unknown", 0.0)
    assert [(each.line, each.text) for each in only.evidence] == [(4, "marvin.Depressed: life")]


@pytest.mark.parametrize(
    "text", ["", "\n", "step 1 loss 2.3\nstep 2 loss 2.2\n", "finished: 0 errors, no failures\n"]
)
def test_a_healthy_log_has_no_diagnosis(told, text):
    """Not even that something is unknown."""
    assert told(text) == []


def test_nothing_in_nothing_out():
    """No evidence at all."""
    assert judge(Observations()) == []


def test_a_diagnosis_is_in_chinese():
    """With the names of the line in it."""
    name = "network-connectivity/hydra-connect"
    text = tables()[name]["cause"]
    signature = {"has": "Connect to peer", "like": r"peer (?P<peer>[\w.]+) failed"}
    known = Knowledge({name: tables()[name] | {"signature": [signature]}})
    with in_language("zh"):
        (only,) = judge(read([of_text("0.log", "[rank0]: Connect to peer node7 failed")], known))

    assert only.cause == bilingual(text)[1].replace("{peer}", "node7")


def test_evidence_is_quoted_with_its_place(told):
    """Each rank's first line, six at most."""
    (only,) = told("".join(f"[rank{rank}]: CUDA out of memory\n" for rank in range(20)))

    assert [(each.source, each.line) for each in only.evidence] == [("0.log", line) for line in range(1, 7)]
    assert only.sightings == 20


def test_the_order_in_which_logs_are_given_does_not_matter(told):
    """The answer is of the evidence."""
    logs = {"b.log": OOM, "a.log": CLOSED, "c.log": "No space left on device"}

    one, other = told(**logs), told(**dict(reversed(logs.items())))

    assert [(each.mode, each.confidence) for each in one] == [(each.mode, each.confidence) for each in other]


def test_confidence_is_a_share_and_falls(told):
    """From 0 to 1, the likeliest first."""
    shares = [
        each.confidence
        for each in told(f"{OOM}\n{CLOSED}\nNo space left on device\narchive is cut short\nValueError: x\n")
    ]

    assert shares == sorted(shares, reverse=True)
    assert all(0 <= share < 1 for share in shares)
