"""Checks of a program that a user types: mistakes that would otherwise show on the hosts, after the start."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from clusterwright.config.job import Job
from clusterwright.errors import EXIT_USAGE, Finding, WrightError, closest_name
from clusterwright.i18n import _

_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_START = re.compile(r"\b(python3?|torchrun|accelerate|deepspeed) .*")


def require_program(arguments: Sequence[str], options: Sequence[str] = ()) -> None:
    """Check that the first argument is a program: no Python script, and no batch script whose options are lost.

    `options`: those of `wright train` that were typed before the program, for the line to type.

    Raises:
        WrightError: `train-words`, with the line to type.
    """
    program = arguments[0]
    if program.endswith(".py") and not re.search(r"\s", program) and not os.access(program, os.X_OK):
        message = _("`{script}` is a Python script, not a program", script=program)
        fix = _(
            "write python before the script: {line}",
            line=shlex.join(("wright", "train", *options, "--", "python", *arguments)),
        )
        raise _refusal(message, fix)
    from clusterwright.launch.lines.source import MAX_BYTES
    from clusterwright.onhost.lib.safe_reader import text_or_empty

    if len(arguments) == 1 and "\n#SBATCH" in (text := text_or_empty(Path(program), MAX_BYTES)):
        message = _("`{script}` has #SBATCH lines, which wright train does not read", script=program)
        raise _refusal(message, _sbatch_fix(text, options))


def _sbatch_fix(text: str, typed: Sequence[str]) -> str:
    """Return the line for a batch script, and which of its #SBATCH options the line leaves out."""
    from clusterwright.launch.sbatch_options import train_options

    options, omitted_options = train_options(text)
    added = [part for option in options.items() if option[0] not in typed for part in option]
    line = f"{shlex.join(('wright', 'train', *typed, *added))} -- {_program_in(text)}"
    fix = _("write the settings as options before the program: {line}", line=line)
    if not omitted_options:
        return fix
    return _(
        "{fix} (left out, as wright train lacks them: {options}; `wright schema job` lists the fields of a job)",
        fix=fix,
        options=", ".join(omitted_options),
    )


def _program_in(text: str) -> str:
    """Return the line of a batch script that starts Python or a launcher, without srun; PROGRAM if there is none."""
    matches = (
        _START.search(line) for line in text.splitlines() if not re.match(r"\s*(#|module |source )", line)
    )
    return next((match[0].rstrip("\\ ") for match in matches if match), "PROGRAM")


def local_line(program: Sequence[str]) -> str:
    """Return the part of a command line behind launchers of tasks, from its Python on; empty if there is none."""
    start = next(
        (i for i, argument in enumerate(program) if _PYTHON.fullmatch(PurePosixPath(argument).name)), None
    )
    return shlex.join(program[start:]) if start else ""


def require_script(job: Job, base_folder: Path) -> None:
    """Check that the folder of the code exists and has the script of the command line.

    A script elsewhere may exist on the hosts only, and passes.

    Raises:
        WrightError: `code-folder`, or `script-missing` with the closest name.
    """
    if job.recipe or job.code is None or job.environment.workdir:
        return
    folder = base_folder / job.code.folder
    findings = []
    if not folder.is_dir():
        message = _("the code folder {folder} does not exist", folder=folder.resolve())
        fix = _("set an existing folder: `code: {folder: .}`, or --code .")
        findings.append(Finding("code-folder", message, fix))
        folder = base_folder  # where the script is searched in its place
    findings += _missing_script(job, folder)
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)


def _missing_script(job: Job, folder: Path) -> Iterator[Finding]:
    """Yield a finding if the folder does not have the script of the job."""
    from clusterwright.launch.lines.source import script_name

    name = script_name(job)
    if name is None or name.startswith("/"):
        return
    if name not in (job.command or job.program or ()):  # a module may be installed
        return
    if (folder / name).exists() or not folder.is_dir():
        return
    scripts = [path.name for path in folder.glob("*.py")][:1000]
    guess = closest_name(name, scripts)
    yield Finding(
        "script-missing",
        _("there is no script `{script}` in {folder}", script=name, folder=folder.resolve()),
        _("did you mean `{suggestion}`?", suggestion=guess)
        if guess
        else _(
            "write the path of the script from this folder, or name the folder of the code with --code FOLDER"
        ),
    )


def _refusal(message: str, fix: str) -> WrightError:
    return WrightError.from_code("train-words", message, fix, exit_code=EXIT_USAGE)
