"""Every mode file is one, and no two of them are the same."""

import pytest
from bench.lib.mode_files import problems, shared

from clusterwright.diagnose.mode import mode, tables

TABLES = tables()
GOOD = {
    "cause": "It broke at {path}.",
    "fix": "Fix it.",
    "role": "root",
    "retry": "no",
    "certain": 0.9,
    "programs": ["torch"],
    "sources": ["https://pytorch.org"],
    "signature": [{"has": "broke asunder", "like": "at (?P<path>/\\S+)"}],
}


@pytest.mark.parametrize("name", TABLES)
def test_a_mode_file_is_valid(name):
    """The checker finds nothing in it, and it can be read."""
    assert problems(name, TABLES[name]) == []
    assert mode(name, TABLES[name]).id == name


def test_modes_with_one_signature_are_told_apart():
    """All but one of those that take the same line say what confirms or rules them out."""
    assert shared(TABLES) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"colour": "red"}, "colour: unknown key"),
        ({"cause": None}, "cause: is missing"),
        ({"cause": "坏了。"}, "cause: is not English"),
        ({"role": "reason"}, "role: 'reason' is none of"),
        ({"retry": "maybe"}, "retry: 'maybe' is none of"),
        ({"exclude": "gpu"}, "exclude: 'gpu' is none of"),
        ({"certain": 90}, "certain: 90 is no share"),
        ({"sources": []}, "sources: a list"),
        ({"follows": "storage-io"}, "follows: a list"),
        ({"signature": []}, "signature: at least one"),
        ({"signature": [{"like": "x (?P<path>.)"}]}, "6 characters or more"),
        ({"signature": [{"has": "broke", "like": "x (?P<path>.)"}]}, "6 characters or more"),
        ({"signature": [{"has": "timeout=", "like": "(?P<path>.)"}]}, "matches a healthy line"),
        ({"signature": [{"has": "NCCL INFO", "like": "(?P<path>.)"}]}, "matches a healthy line"),
        ({"signature": [{"has": "broke asunder", "like": "("}]}, "no regular expression"),
        ({"signature": [{"has": "broke asunder", "like": ".*"}]}, "takes an empty line"),
        ({"signature": [{"has": "broke asunder"}]}, "{path} is captured by no `like`"),
        ({"signature": [{"has": "broke asunder", "is": "x"}]}, "signature 1: is: unknown key"),
        ({"signature": [{"has": "broke asunder", "in": "mail", "like": "(?P<path>.)"}]}, "in = 'mail'"),
        ({"signature": [{"has": "broke asunder", "near": "x", "like": "(?P<path>.)"}]}, "near: a list"),
        ({"confirmed_by": [{}]}, "either `has` or `mode`"),
        ({"fix": "Fix it"}, "fix: is a sentence"),
    ],
)
def test_a_wrong_mode_file_is_told_what_is_wrong(change, said):
    """The finding names the file, the key and the fix."""
    table = {key: value for key, value in (GOOD | change).items() if value is not None}

    (first, *_) = problems("other/broken", table)

    assert first.startswith("other/broken: ")
    assert said in first


def test_a_good_file_has_no_problems():
    """The table that the cases above spoil is itself a mode."""
    assert problems("other/broken", GOOD) == []


def test_a_file_in_a_folder_that_is_no_class_is_refused():
    """The folder is the class."""
    (said,) = problems("weather/rain", GOOD)

    assert "folder 'weather' is no class" in said


def test_two_files_with_one_signature_are_refused():
    """Unless one of them says what tells it from the other."""
    twin = GOOD | {"ruled_out_by": [{"has": "fixed already"}]}

    assert "the same signature 'broke asunder'" in shared({"other/a": GOOD, "other/b": GOOD})[0]
    assert shared({"other/a": GOOD, "other/b": twin}) == []


@pytest.mark.parametrize(
    ("follows", "said"),
    [
        ("other/z", "other/a: follows = 'other/z': neither a mode, nor a class, nor `*`"),
        ("weather", "other/a: follows = 'weather': neither a mode, nor a class, nor `*`"),
        ("other/b", "other/a: follows = 'other/b', which follows it, too; remove one of the two"),
    ],
)
def test_a_mode_that_follows_what_is_not_there_or_itself_is_refused(follows, said):
    """A file that was renamed is found, and a circle."""
    other = GOOD | {"signature": [{"has": "fell over", "like": "at (?P<path>/x)"}], "follows": ["other/a"]}

    assert said in shared({"other/a": GOOD | {"follows": [follows]}, "other/b": other})


def test_a_mode_may_follow_a_class_or_anything():
    """Both are no modes, and are known all the same."""
    assert shared({"other/a": GOOD | {"follows": ["storage-io", "*"]}}) == []


def test_a_witness_that_is_no_mode_is_refused():
    """A file that was renamed is found."""
    (said,) = shared({"other/a": GOOD | {"confirmed_by": [{"mode": "other/z"}]}})

    assert said == "other/a: mode = 'other/z': no such mode"
