"""`wright guide`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from clusterwright.cli._live_names import GPUS
from clusterwright.cli._numbers import Count
from clusterwright.cli._show import cluster_option

if TYPE_CHECKING:
    from clusterwright.cli._first_day import State
    from clusterwright.cli._first_day_steps import Step


def guide(
    *,
    hosts: Count | None = None,
    gpu: Annotated[str | None, GPUS] = None,
    gpus: Count | None = None,
    os: str | None = None,
    train: str | None = None,
    yes: bool = False,
) -> int:
    """Walk through the first day in this folder: plan, start a lab, build, verify, train.

    It prompts for a few answers, writes cluster.yaml and job.yaml, and shows and runs one command of wright after
    another. Ctrl-C leaves; run it again in the folder to continue where it stopped.

    Parameters
    ----------
    hosts
        Number of GPU hosts, instead of the question.
    gpu
        GPU of the catalog, instead of the question.
    gpus
        Number of GPUs per host, instead of the question.
    os
        Operating system such as rocky-9, instead of the question.
    train
        What to train: gpt, llama, bert, resnet or a .py file, instead of the question.
    yes
        Take the default of each question that has no option, and run every step without a prompt.
    """
    from clusterwright.cli._first_day import apply_options, load_state
    from clusterwright.cli._show import show_message
    from clusterwright.errors import EXIT_INTERRUPTED, EXIT_OK
    from clusterwright.i18n import _

    state = load_state()
    options = {"hosts": hosts, "gpu": gpu, "gpus": gpus, "os": os, "train": train}
    apply_options(state, {name: None if value is None else str(value) for name, value in options.items()})
    code = EXIT_OK
    try:
        _complete_answers(state, yes=yes)
        return _run_steps(state, yes=yes)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except EOFError:
        pass
    show_message(_("left; the answers are stored. To continue, in this folder: wright guide"))
    return code


def _complete_answers(state: State, *, yes: bool) -> None:
    """Ask the questions that have no answer yet, or with `yes` take their defaults; store the answers.

    Without a terminal and `yes` print the questions.

    Raises:
        WrightError: there is neither a terminal nor --yes.
    """
    from clusterwright.cli._first_day import QUESTIONS, prompt
    from clusterwright.cli._show import show_table
    from clusterwright.errors import EXIT_USAGE, WrightError
    from clusterwright.i18n import _

    open_questions = [question for question in QUESTIONS if question.name not in state.answers]
    if not yes and not sys.stdin.isatty():
        rows = [
            (
                f"--{question.name}",
                _(question.text),
                _(question.values),
                state.answers.get(question.name, question.default),
            )
            for question in QUESTIONS
        ]
        show_table(("option", "question", "values", "answer"), rows)
        message = _("the questions and steps need a terminal or --yes")
        fix = _("pass --yes and options with your answers, such as --hosts 4 --gpu h100")
        raise WrightError.from_code("usage", message, fix, exit_code=EXIT_USAGE)
    for question in open_questions:
        state.answers[question.name] = question.default if yes else prompt(question)
        state.save()


def _run_steps(state: State, *, yes: bool) -> int:
    """Run the guide's steps that have not finished; return the exit code of the first that fails, else 0.

    Raises:
        KeyboardInterrupt: a step was interrupted.
    """
    from clusterwright.cli._first_day_steps import lab_file, steps
    from clusterwright.cli._show import show_message, show_next
    from clusterwright.errors import EXIT_INTERRUPTED
    from clusterwright.i18n import _

    planned = steps(state.answers)
    for number, step in enumerate(planned, 1):
        if step.name in state.finished:
            continue
        code = _run_step(step, f"{number}/{len(planned)}", state, yes=yes)
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
        if code:
            show_message(_("exit code {code}: fix the cause, then continue with: wright guide", code=code))
            return code
        state.finished.append(step.name)
        state.save()
    show_message(_("the first day is complete; cluster.yaml and job.yaml are yours"))
    of_lab = cluster_option(Path(lab_file(state.answers)))
    show_next(f"wright logs last; wright why last; wright lab down {of_lab}")
    return 0


def _run_step(step: Step, number: str, state: State, *, yes: bool) -> int:
    """Print a step's command, run it unless the user skips it, and return its exit code, 0 if skipped.

    With `yes` it runs without a question.

    Raises:
        EOFError: the user leaves the guide.
    """
    from clusterwright.cli._first_day import read_line
    from clusterwright.cli._first_day_steps import write_files
    from clusterwright.cli._show import show_heading, show_message, show_text
    from clusterwright.i18n import _

    show_heading(f"{number}  {_(step.about)}")
    show_text(f"$ {step.line}")
    sys.stdout.flush()
    if not yes:
        choice = read_line(_("Enter runs it, s skips it, q leaves: ")).lower()
        if choice == "q":
            raise EOFError
        if choice == "s":
            return 0
    code = step.run()
    if step.name == "init" and code == 0:
        show_message(_("written with your answers: {files}", files=", ".join(write_files(state.answers))))
    return code
