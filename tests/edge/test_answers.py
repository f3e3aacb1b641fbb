"""Answers of programs on hosts, well formed and not."""

import pytest

from clusterwright.edge.answers import evaluating, parse_answer
from clusterwright.edge.processes import CommandResult
from clusterwright.errors import WrightError


def result(out):
    """Return the result of a program that printed this."""
    return CommandResult(("python3",), 0, out, "", 0.1)


def test_a_document_is_returned():
    """Numbers that are not finite are not set."""
    assert parse_answer(result('{"a": [1, 1e999]}'), "n1") == {"a": [1, None]}
    assert parse_answer(result("welcome"), "n1", '{"a": 1}') == {"a": 1}


def test_hostile_output_is_an_error_that_names_the_host(hostile):
    """Nesting, huge numbers, other types; never another exception."""
    outcomes = set()
    for data in hostile(1_000, b'{"a": [1, {"b": null}], "c": "d"}'):
        answer = result(data.decode("utf-8", "replace"))
        try:
            outcomes.add(type(parse_answer(answer, "n1")))
        except WrightError as error:
            outcomes.add("n1: the" in str(error))

    assert outcomes == {dict, True}


@pytest.mark.parametrize(
    "work", [lambda: {}["a"], lambda: int("x"), lambda: None.get, lambda: int(float("inf")), lambda: [] + 1]
)
def test_a_missing_field_or_another_type_is_an_error_that_names_the_host(work):
    """In place of a traceback."""
    with (
        pytest.raises(WrightError, match="n1: the answer is malformed: abc"),
        evaluating(result("abc"), "n1"),
    ):
        work()


def test_an_error_of_ours_stays_itself():
    """Its code and fix are more precise."""
    ours = WrightError.from_code("unreachable", "a", "b")

    with pytest.raises(WrightError) as caught, evaluating(result(""), "n1"):
        raise ours
    assert caught.value is ours
