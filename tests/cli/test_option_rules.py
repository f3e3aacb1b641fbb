"""Options that exclude or need one another: each rule alone and with other mistakes; what is valid is accepted."""

import re
import shlex
from pathlib import Path

import pytest
from cyclopts import CycloptsError

from clusterwright.catalog.models import architectures
from clusterwright.cli import app
from clusterwright.cli._command_tree import all_commands
from clusterwright.cli._mistakes import _line, _stop, line_error, with_others
from clusterwright.cli._option_rules import RULES, contradictions
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.plan.sizing.workload import WorkloadRequest, workload

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/clusterwright/codes/*.md")]
USAGE = re.compile(r"\[OPTIONS\]|\b(?:STR|INT|FLOAT|PATH|SHELL)\b")  # of a command in the reference
SHELL = re.compile(r"\s(?:\||&&|2?>|<|#)|;")
TYPES = {"INT": "8", "FLOAT": "1.5", "PATH": "x"}
TEXTS = {"--nic-rate": "100Gbit/s", "--samples": "52k", "--tokens": "1e9"}
COMMANDS = {" ".join(command.words): command for command in all_commands()}
OPTIONS = {
    name: {text: option for option in command.options for text in option.names}
    for name, command in COMMANDS.items()
}
CASES = [(name, rule) for name, rules in RULES.items() for rule in rules]


@pytest.fixture(autouse=True)
def _folder_without_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))  # no Slurm


def error_of(words):
    """Return the error of a line, whose command does not run; None for a line without mistakes."""
    try:
        app().parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        return line_error(error, app())
    except WrightError as error:
        return with_others(error, words, app())
    return None


def codes_of(words):
    """Return the codes of all mistakes of a line."""
    error = error_of(words)
    return [finding.code for finding in error.findings] if error else []


def with_value(name, option):
    """Return an option of a command with a value that it takes; a flag alone."""
    if not option.startswith("-"):
        return "job.yaml"  # an argument
    value = OPTIONS[name][option].value
    if not value:
        return option
    return f"{option}={TEXTS.get(option) or TYPES.get(value) or value.partition('|')[0]}"


def violation(name, rule):
    """Return the options of a line that violates the rule."""
    options = rule.options[: rule.most + 1] if rule.most < len(rule.options) else ()
    return [with_value(name, option) for option in (rule.option, *options) if option]


def lines_of_pages():
    """Return the command lines of the pages in code blocks, without what a shell reads of them."""
    for page in PAGES:
        for match in re.finditer(r"(?m)^\s*(?:\$ )?wright (.+)$", page.read_text().replace("\\\n", " ")):
            if not USAGE.search(match[1]):
                yield page.name, SHELL.split(match[1])[0]


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_every_option_of_a_rule_exists(name, rule):
    """A rule about an option that was renamed would never apply."""
    options = {option for option in (*rule.options, rule.option) if option.startswith("-")}
    assert options <= set(OPTIONS[name])


@pytest.mark.parametrize(("name", "rule"), CASES)
def test_a_contradiction_is_named_with_all_other_mistakes(name, rule):
    """Together with an option that does not exist and a value that its option does not take."""
    typed = violation(name, rule)
    names = {word.partition("=")[0] for word in typed}
    wrong = [
        f"{text}=much"
        for text, option in OPTIONS[name].items()
        if option.value in ("INT", "FLOAT") and text[:2] == "--" and text not in {*names, *rule.options}
    ][:1]
    unknown = [] if name == "train" else ["--zzqq"]  # train reads it as the program's
    error = error_of([*name.split(), *typed, *wrong, *unknown])

    messages = [finding.message for finding in error.findings]
    assert [finding.code for finding in error.findings].count(rule.code) >= 1, messages
    assert error.exit_code == EXIT_USAGE
    for word in [*wrong, *unknown]:
        assert any(word.partition("=")[0] in message for message in messages), messages


@pytest.mark.parametrize(("name", "rule"), [case for case in CASES if violation(*case)])
def test_a_contradiction_is_refused_before_the_command_runs(name, rule):
    """Also if nothing else is wrong with the options; its texts have no field left."""
    error = error_of([*name.split(), *violation(name, rule)])

    found = next(finding for finding in error.findings if finding.code == rule.code)
    assert found.fix
    assert "{" not in found.message + found.fix


@pytest.mark.parametrize(
    "line",
    [
        "simulate --trace jobs.csv", "simulate --teams 5", "simulate --trace jobs.csv --teams 0",
        "upgrade --slurm 25.11", "upgrade --driver 580.95.05 --slurm=", "adopt --folder etc --control=",
        "train --local --hostfile hosts --dry-run job.yaml", "train --resume gpt-1 --dry-run job.yaml",
        "train --show job.yaml", "dev --shell", "dev --vscode --shell=false", "web", "web --tls-cert c --tls-key k",
        "web --add-user ann --tls-cert c", "remove-hosts gpu1 --now --wait 1h", "apply --wait 1h",
        "plan cost --gpu h100 --nodes 1 --currency CNY --exchange-rate 7",
        "plan search --cluster here --gpu h100 --model llama3-8b --seq 1 --global-batch 1",
        "plan search --cluster ssh://login --gpu h100 --model llama3-8b --seq 1 --global-batch 1",
        "train --resume gpt-1 --local --cluster cluster.yaml", "web --add-user ann --role operator",
        "simulate --teams 3 --days 2 --load 0.5 --seed 4", "rollback --to 3 --dry-run",
    ],
)  # fmt: skip
def test_options_that_go_together_are_accepted(line):
    """No default is judged, an empty text and 0 teams are not set; options that are merely superfluous are accepted."""
    assert codes_of(shlex.split(line)) == []


def test_no_command_line_of_the_pages_is_refused():
    """By a rule, a range or a format of an option; a page of an error may have the line that is wrong."""
    tree, refused, count = app(), [], 0
    tree.config = (_stop,)
    for page, text in lines_of_pages():
        try:
            line = _line(shlex.split(text), tree)
        except (
            CycloptsError,
            ValueError,
        ):  # an option or command of another tool, or a quote that the page cut
            continue
        findings = list(contradictions(line.command, line.arguments))
        for argument in line.arguments:
            if argument.tokens and not argument.children:
                try:
                    argument.convert_and_validate()
                except CycloptsError as error:
                    findings.append(error)
        count += 1
        refused += [(page, text, findings)] if findings else []

    assert refused == []
    assert count > 300


@pytest.mark.parametrize("name", COMMANDS)
def test_no_default_is_out_of_the_range_of_its_option(name):
    """Cyclopts judges defaults as well."""
    tree = app()
    tree.config = (_stop,)
    line = _line(name.split(), tree)

    refused = []
    for argument in line.arguments:
        if not (argument.tokens or argument.children or argument.required):
            try:
                argument.convert_and_validate()
            except CycloptsError as error:
                refused.append((argument.name, str(error)))
    assert refused == []


def test_the_amount_of_data_has_one_message():
    """That of the Python API, which gets no options."""
    with pytest.raises(WrightError) as caught:
        workload(WorkloadRequest(next(iter(architectures().values())), samples="1k", tokens="1k"))
    error = error_of(shlex.split("plan size --samples 1k --tokens 1k"))

    assert caught.value.findings[0] in error.findings


def test_a_contradiction_a_range_and_a_missing_file_are_named_in_one_run():
    """Each of them once."""
    codes = codes_of(shlex.split("web --tls-cert no.pem --port 80800"))

    assert [codes.count(code) for code in ("web-tls", "usage", "file-unreadable")] == [1, 1, 1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "train job.yaml --local --cluster c.yaml --partition train",
            ["--cluster", "--partition", "--local"],
        ),
        ("train --hostfile hosts --as alice job.yaml", ["--as", "--hostfile"]),
        ("train --resume last --nodes 2 -- python train.py", ["PROGRAM", "--nodes", "--resume"]),
        ("train --resume last --set time=2h", ["--set", "--resume"]),
        ("web --add-user alice --remove-user bob", ["--add-user", "--remove-user"]),
        ("web --role operator", ["--role", "--add-user"]),
        ("checkpoints verify run --step 3 --all", ["--step", "--all"]),
        ("dev --python /opt/python --environment base", ["--python", "--environment"]),
        ("plan explain --row runs.csv:2 --gpu h100 --tp 2", ["--gpu", "--tp", "--row"]),
        ("plan explain --model llama3-8b --gpu h100 --gpus 8 --group gpu", ["--group", "--cluster"]),
        ("simulate --trace jobs.csv --days 3", ["--days", "--trace"]),
        ("rollback --list --to 3", ["--to", "--list"]),
    ],
)
def test_an_option_that_the_line_does_not_read_is_refused(line, words):
    """In silence the user would get another result than the line describes."""
    texts = [f"{finding.message} {finding.fix}" for finding in error_of(shlex.split(line)).findings]
    assert any(all(word in text for word in words) for text in texts), texts
