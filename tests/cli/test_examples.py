"""The examples of commands: of each one or two, each parsed by the command itself, and the same in help and docs."""

import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from clusterwright.cli import _examples, app
from clusterwright.cli._command_page import cli_page
from clusterwright.cli._command_tree import all_commands
from clusterwright.cli._man_pages import escape, man_pages

COMMANDS = list(all_commands())
LINES = [(command, line) for command in COMMANDS for line in command.examples]


def test_every_command_has_one_or_two_examples():
    """And no example belongs to a command that does not exist."""
    tables = tomllib.loads(Path(_examples.__file__).with_name("examples.toml").read_text())

    def count(table):
        return sum(count(value) if isinstance(value, dict) else 1 for value in table.values())

    assert [command.words for command in COMMANDS if not 1 <= len(command.examples) <= 2] == []
    assert count(tables) == len(LINES)


@pytest.mark.parametrize(
    ("command", "line"), LINES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_example_is_a_line_of_the_command(command, line):
    """Its own parser takes every word; of a shell's redirection only the words before it."""
    words = shlex.split(line.partition(" >")[0])

    assert words[: 1 + len(command.words)] == ["wright", *command.words]
    called, bound, _ignored = app().parse_args(words[1:], exit_on_error=False, print_error=False)
    assert called.__module__.startswith("clusterwright.cli.")
    assert bound is not None


@pytest.mark.parametrize(
    "line", [line for each, line in LINES if each.words[0] in ("plan", "explain", "schema")]
)
def test_an_example_that_needs_no_cluster_works(line, command, tmp_path):
    """As it is written."""
    shutil.copy(Path(__file__).parents[2] / "examples/lab/cluster.yaml", tmp_path / "site.yaml")
    (tmp_path / "runs.csv").write_text(
        "model,gpu_type,num_gpus,seq_len,global_batch\nllama3-8b,h100-sxm-80gb,8,4096,64\n"
    )

    done = command(*shlex.split(line)[1:])

    assert done.returncode == 0, done.stderr


def test_examples_are_in_help_reference_and_man_pages(command):
    """Each line, and what it does."""
    page, manual = cli_page(), man_pages()
    for each, line in LINES:
        assert f"# {each.examples[line]}\n{line}\n" in page
        assert escape(line) in manual[f"wright-{each.words[0]}.1"]

    assert "Examples:\n  wright apply --dry-run\n      Show what" in command("apply", "--help").stdout
    assert "wright heal watch\n" in command("heal", "watch", "--help").stdout
    assert "Examples" not in command("bench", "--help").stdout
    assert "示例\uff1a\n  wright jobs\n" in command("--lang", "zh", "jobs", "--help").stdout
