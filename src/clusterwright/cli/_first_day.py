"""The questions of `wright guide`, and its answers and finished steps in a file of the current folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from clusterwright.cli._wrapping import wrap_for_terminal
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import N_, _
from clusterwright.platforms.platform import DEFAULT

STATE = Path(".wright-guide.json")
SCHEMA = 1
RECIPES = ("gpt", "llama", "bert", "resnet")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with a function that returns the answer in its stored form or raises a WrightError."""

    name: str
    text: str
    values: str
    default: str
    parse: Callable[[str], str]


def _number(most: int) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise _wrong(text, _("give a number from 1 to {most}", most=most))
        return str(int(text))

    return parse


def _gpu(text: str) -> str:
    from clusterwright.catalog.gpus import gpu

    return gpu(text).name


def _os(text: str) -> str:
    from clusterwright.platforms.platform import platform_names

    if text not in platform_names():
        raise _wrong(text, _("choose one of {choices}", choices=", ".join(platform_names())))
    return text


def _training(text: str) -> str:
    if text not in RECIPES and not (text.endswith(".py") and Path(text).is_file()):
        raise _wrong(
            text, _("choose one of {choices}, or the path of a .py file", choices=", ".join(RECIPES))
        )
    return text


def _wrong(text: str, fix: str) -> WrightError:
    message = _("`{text}` is none of the possible answers", text=text[:80])
    return WrightError.from_code("usage", message, fix, exit_code=EXIT_USAGE)


QUESTIONS = (
    Question("hosts", N_("How many GPU hosts?"), N_("1 to 16"), "2", _number(16)),
    Question("gpu", N_("Which GPU?"), N_("see wright plan catalog gpus"), "a100-sxm-80gb", _gpu),
    Question("gpus", N_("How many GPUs per host?"), N_("1 to 8"), "2", _number(8)),
    Question("os", N_("Which operating system?"), N_("see wright explain os"), DEFAULT, _os),
    Question(
        "train", N_("What do you train?"), N_("gpt, llama, bert, resnet or a .py file"), "gpt", _training
    ),
)


@dataclass(slots=True)
class State:
    """Answers and the names of finished steps; every change is written at once."""

    answers: dict[str, str] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)

    def save(self) -> None:
        """Write answers and finished steps to the guide's file in this folder, atomically."""
        from clusterwright.onhost.lib.files import write_atomic

        document = {"schema": SCHEMA, "answers": self.answers, "finished": self.finished}
        write_atomic(STATE, json.dumps(document, indent=2) + "\n")


def load_state() -> State:
    """Return the answers and finished steps of this folder's guide; empty ones if there is no file.

    Raises:
        WrightError: the file is not one of this command.
    """
    from clusterwright.file_arguments import read_argument
    from clusterwright.onhost.lib.safe_reader import DOCUMENT_BYTES, parse_document

    try:
        text = read_argument(STATE, DOCUMENT_BYTES).decode()
    except FileNotFoundError:
        return State()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(str(error)) from error
    try:
        document = parse_document(text)
        answers, finished = dict(document["answers"]), list(document["finished"])
        parsed = {
            question.name: question.parse(str(answers[question.name]))
            for question in QUESTIONS
            if question.name in answers
        }
        return State(parsed, [str(name) for name in finished])
    except (ValueError, KeyError, TypeError, WrightError) as error:
        raise _unreadable(str(error)) from error


def _unreadable(reason: str) -> WrightError:
    message = _("{file} has no answers that can be read: {reason}", file=STATE, reason=reason[:200])
    fix = _("remove {file}; the next wright guide prompts for the answers", file=STATE)
    return WrightError.from_code("usage", message, fix, exit_code=EXIT_USAGE)


def apply_options(state: State, options: Mapping[str, str | None]) -> None:
    """Add the answers that were given as options to the state; None is no answer.

    Raises:
        WrightError: an answer is wrong, or the files of this folder were written from another one.
    """
    for question in QUESTIONS:
        text = options[question.name]
        if text is None:
            continue
        try:
            answer = question.parse(text)
        except WrightError as error:
            [finding] = error.findings
            named = replace(finding, message=f"--{question.name}: {finding.message}")
            raise WrightError(named, exit_code=EXIT_USAGE) from None
        if state.finished and state.answers.get(question.name) != answer:
            message = _(
                "the files of this folder were written with {name} {value}",
                name=question.name,
                value=state.answers[question.name],
            )
            fix = _("change cluster.yaml and job.yaml, or run wright guide in an empty folder")
            raise WrightError.from_code("usage", message, fix, exit_code=EXIT_USAGE)
        state.answers[question.name] = answer


def prompt(question: Question) -> str:
    """Ask a question on the terminal until the answer is valid, and return that in its stored form.

    Raises:
        EOFError: the input ended.
    """
    from clusterwright.cli._show import show_error

    while True:
        text = read_line(f"{_(question.text)} ({_(question.values)}) [{question.default}] ")
        try:
            return question.parse(text or question.default)
        except WrightError as error:
            show_error(str(error))


def read_line(text: str) -> str:
    """Print a text on stderr and return the line typed at the terminal, without surrounding spaces.

    Raises:
        EOFError: the input ended.
    """
    sys.stderr.write(wrap_for_terminal(text.rstrip(), sys.stderr) + " ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        sys.stderr.write("\n")
        raise EOFError
    return line.strip()
