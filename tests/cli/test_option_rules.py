"""Options that exclude or need one another: every rule, alone and with other mistakes of the line."""

import re

import pytest
from cyclopts import CycloptsError

from clusterwright.cli import app
from clusterwright.cli._command_tree import all_commands
from clusterwright.cli._mistakes import line_error, with_others
from clusterwright.cli._option_rules import RULES, Exclusion, RequiredOption
from clusterwright.errors import EXIT_USAGE, WrightError

COMMANDS = {" ".join(command.words): command for command in all_commands()}
OPTIONS = {
    name: {text: option for option in command.options for text in option.names}
    for name, command in COMMANDS.items()
}
TEXTS = {
    "--wait": "1h", "--month": "2026-11", "--nic-rate": "100Gbit/s", "--samples": "52k", "--tokens": "1e9",
    "--seq": "4096", "--zero": "1", "--recompute": "full", "--precision": "bf16", "--hosts": "gpu1",
}  # fmt: skip
CASES = [(name, rule) for name, rules in RULES.items() for rule in rules]


@pytest.fixture(autouse=True)
def _folder_without_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))  # no Slurm


def error_of(words):
    """Return the error of a line, whose command does not run."""
    try:
        app().parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return line_error(error, app())
    except WrightError as error:
        return with_others(error, words, app())
    return None


def with_value(name, option):
    """Return an option of a command with a value that it takes; a flag alone."""
    value = OPTIONS[name][option].value
    if not value:
        return option
    number = {"INT": "8", "FLOAT": "1.5", "PATH": "x"}
    text = TEXTS.get(option) if value == "STR" or option == "--zero" else None
    return f"{option}={text or number.get(value) or value.partition('|')[0]}"


def violation(name, rule):
    """Return the options of a line that violates the rule."""
    options = rule.options if isinstance(rule, Exclusion) else (rule.option,)
    return [with_value(name, option) for option in options]


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_every_option_of_a_rule_exists(name, rule):
    """A rule about an option that was renamed would never apply."""
    options = rule.options if isinstance(rule, Exclusion) else (rule.option, *rule.prerequisites)

    assert set(options) <= set(OPTIONS[name])


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_a_contradiction_is_named_with_all_other_mistakes(name, rule):
    """Together with an option that does not exist and a value that its option does not take."""
    wrong = [
        f"{text}=much"
        for text, option in OPTIONS[name].items()
        if option.value in ("INT", "FLOAT")
        and text.startswith("--")
        and text not in {word.partition("=")[0] for word in violation(name, rule)}
    ][:1]
    error = error_of(
        [*name.split(), *violation(name, rule), *wrong, *([] if name == "train" else ["--zzqq"])]
    )

    messages = [finding.message for finding in error.findings]
    options = rule.options if isinstance(rule, Exclusion) else (rule.option, *rule.prerequisites)
    found = [finding for finding in error.findings if all(option in finding.message for option in options)]
    assert [finding.code for finding in found] == [rule.code], messages
    assert error.exit_code == EXIT_USAGE
    assert name == "train" or any("--zzqq" in message for message in messages)
    for text in wrong:
        option, _equals, value = text.partition("=")
        assert any(option in message and f"`{value}`" in message for message in messages), messages


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_a_contradiction_is_refused_before_the_command_runs(name, rule):
    """Also if nothing else is wrong with the options."""
    error = error_of([*name.split(), *violation(name, rule)])

    assert any(finding.code == rule.code for finding in error.findings)


@pytest.mark.parametrize(("name", "rule"), [case for case in CASES if isinstance(case[1], RequiredOption)])
def test_each_of_the_needed_options_is_enough(name, rule):
    """No finding is about the rule then."""
    for other in rule.prerequisites:
        error = error_of([*name.split(), *violation(name, rule), with_value(name, other)])

        assert "has no effect without" not in str(error), error


@pytest.mark.parametrize("name", COMMANDS)
def test_what_the_help_of_an_option_requires_is_a_rule(name):
    """`With --drain or --reboot: ...`: the option has no effect without one of them."""
    rules = [rule for rule in RULES.get(name, ()) if isinstance(rule, RequiredOption)]
    for option in COMMANDS[name].options:
        if match := re.match(r"With (--[-\w]+(?: or --[-\w]+)*):", option.help):
            needed = set(match[1].split(" or "))
            others = [set(rule.prerequisites) for rule in rules if rule.option == option.names[0]]
            assert others, (option.names[0], needed)
            assert needed <= others[0]
