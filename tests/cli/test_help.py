"""`wright COMMAND --help`: what a stranger reads first."""

import os

import pytest

NARROW = {**os.environ, "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
COMMANDS = ("tune network", "plan size", "apply", "bench network", "lab campaign", "check", "dev")


@pytest.mark.parametrize("name", COMMANDS)
def test_only_defaults_that_say_something_are_shown(command, name):
    """A flag is off and a text is empty unless it is given; numbers and choices have a default to know."""
    text = command(*name.split(), "--help", env=NARROW).stdout

    assert not {"[default: False]", '[default: ""]', "[default: ()]", "[default: None]"} & {
        line[start:end].strip()
        for line in text.splitlines()
        for start, end in [(line.find("[default"), line.rfind("]") + 1)]
    }


def test_defaults_that_count_are_shown(command):
    """Also the number 0."""
    assert "[default: 60]" in command("tune", "network", "--help", env=NARROW).stdout
    assert "[default: 0]" in command("check", "--help", env=NARROW).stdout


def test_a_paragraph_breaks_only_at_the_width(command):
    """The lines of the source are longer than a terminal of 80 columns."""
    text = command("lab", "campaign", "--help", env=NARROW).stdout

    assert text.startswith("Usage: wright lab campaign [OPTIONS]\n\nInject faults")
    assert "\ncode: 0 if every fault was handled as expected.\n" in text


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        ("status --help", "wright status [OPTIONS] [JOB]"),
        ("help lab shell", "wright lab shell [OPTIONS] HOST [COMMAND...]"),
        ("-q validate --json --help", "wright validate [OPTIONS] FILE [MORE...]"),
        ("dev --help", "wright dev COMMAND [OPTIONS] [FILE]"),
        ("bench compare --help", "wright bench compare [OPTIONS] A B"),
        ("plan --help", "wright plan COMMAND"),
    ],
)
def test_the_usage_line_names_optional_arguments(command, line, usage):
    """As the list of arguments below it does."""
    assert command(*line.split(), env=NARROW).stdout.startswith(f"Usage: {usage}\n\n")


def test_help_of_a_command_that_does_not_exist_is_an_error(command):
    """With the command that is meant."""
    done = command("statis", "--help", env=NARROW)

    assert (done.returncode, done.stdout) == (2, "")
    assert "status" in done.stderr
