"""torch.distributed.launch passes `--local-rank` to the script: choose what the script reads instead."""

from __future__ import annotations

from collections.abc import Sequence

from clusterwright.i18n import _
from clusterwright.launch.lines import tokens as t
from clusterwright.launch.lines.rewrite import command_lines, commands, edited
from clusterwright.launch.lines.source import Script, strings
from clusterwright.onhost.adapters.launch_options import LaunchCommand
from clusterwright.onhost.adapters.local_rank import MODULE

LAUNCH = "torch.distributed.launch"
USE_ENV = "--use_env"  # torch 1 spells it so, torch 2 knows both
DASH, UNDERSCORE = "--local-rank", "--local_rank"


def choose(program: Sequence[str], script: Script | None) -> tuple[tuple[str, ...], str]:
    """Return the program, changed if its script needs that to get the local rank, and a sentence on how it gets it.

    Unchanged and "" unless it starts `torch.distributed.launch` without --use-env and --no-python.
    """
    for line in command_lines(program):
        for launch, tokens, _outer in commands(line):
            names = {option.name for option in launch.options}
            if launch.launcher != LAUNCH or names & {"--use-env", "--no-python"}:
                continue
            return _chosen(program, launch, tokens, script)
    return tuple(program), ""


def _chosen(
    program: Sequence[str], launch: LaunchCommand, tokens: Sequence[t.Token], script: Script | None
) -> tuple[tuple[str, ...], str]:
    if script is None or script.tree is None:
        fix = _(
            "torch.distributed.launch adds {option} to the arguments of a script that cannot be read here; "
            "with --use-env it sets LOCAL_RANK only",
            option=DASH,
        )
        return tuple(program), fix
    parsed = {DASH, UNDERSCORE} & strings(script)
    if DASH in parsed:
        return tuple(program), _("{script} parses {option}, which it gets", script=script.name, option=DASH)
    if UNDERSCORE in parsed:
        module = next((option for option in launch.options if option.name in ("-m", "--module")), None)
        edits = [t.Edit(tokens[module.start].start, tokens[module.start].stop, ())] if module else []
        inserted = (USE_ENV, "-m", MODULE, UNDERSCORE, *(("-m",) if module else ()))
        edits.append(_insertion(launch, tokens, inserted))
        text = _(
            "{script} parses {option}, which it gets; torch 2 would pass {other}",
            script=script.name,
            option=UNDERSCORE,
            other=DASH,
        )
        return edited(program, edits), text
    edits = [_insertion(launch, tokens, (USE_ENV,), before_options=True)]
    text = _(
        "{script} does not parse {option}: --use-env, LOCAL_RANK is set", script=script.name, option=DASH
    )
    return edited(program, edits), text


def _insertion(
    launch: LaunchCommand, tokens: Sequence[t.Token], new: tuple[str, ...], *, before_options: bool = False
) -> t.Edit:
    index = launch.options[0].start if before_options and launch.options else launch.program
    start = tokens[index].start
    return t.Edit(start, start, new)
