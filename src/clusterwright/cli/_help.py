"""`--help` in the current language: a command's docstring paragraph by paragraph, each wrapped as a whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from cyclopts import App
from cyclopts.help import DefaultFormatter, HelpPanel, InlineText, format_usage
from rich.console import Console, ConsoleOptions
from rich.text import Text

from clusterwright.i18n import N_, _

UNNAMED = re.compile(r"\[ARGS(?:\.\.\.)?\]")  # what Cyclopts writes for optional arguments
TITLES = (N_("Usage:"), N_("Arguments"), N_("Parameters"), N_("Commands"))  # Cyclopts' own


class TranslatedHelp(DefaultFormatter):
    """Cyclopts' help formatter with translated titles, descriptions and parameters.

    A paragraph is one line: those of a docstring are longer than 80 columns, and would break twice.
    """

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        entries = [entry.copy(description=_inline(entry.description)) for entry in panel.entries]
        super().__call__(console, options, panel.copy(title=_(str(panel.title)), entries=entries))

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:  # noqa: ARG002 (Cyclopts')
        """Print the usage line of a command's help, with a translated title."""
        text = usage.plain if isinstance(usage, Text) else str(usage)
        console.print(Text(f"{_('Usage:')} {text.removeprefix('Usage:').strip()}", style="bold"))
        console.print()

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        """Print the description in a command's help, translated."""
        super().render_description(console, options, _inline(description))


def name_arguments(tree: App, arguments: Sequence[str]) -> None:
    """Set the usage line of the command that `arguments` name, so that it names the optional arguments.

    Cyclopts writes [ARGS] for them.
    """
    command_path = list(takewhile(lambda argument: not argument.startswith("-"), arguments))
    chain, apps, _unused = tree.parse_commands(command_path)
    command = apps[-1]
    if not chain or not command.default_command:
        return
    with tree.app_stack(apps):
        names = [
            argument.name.lstrip("-").upper() + "..." * argument.is_var_positional()
            for argument in command.assemble_argument_collection(parse_docstring=True)
            if argument.index is not None and not argument.required
        ]
        usage = format_usage(tree, chain, execution_path=apps).plain.rstrip()
    command.usage = UNNAMED.sub(" ".join(f"[{name}]" for name in names), usage)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a docstring, each on one line, as the message catalog has them."""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


def _inline(description: Any) -> Any:
    if not isinstance(description, InlineText) or not isinstance(description.primary_renderable, Text):
        return description
    text = "\n\n".join(_(paragraph) for paragraph in paragraphs(description.primary_renderable.plain))
    translated = InlineText(Text(text), force_empty_end=description.force_empty_end)
    translated.texts = description.texts
    return translated
