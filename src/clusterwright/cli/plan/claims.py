"""`wright plan claims`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.i18n import _

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.plan.sizing.claims import Checked


def claims(
    guide: Path | None = None, /, *, text: str = "", json: bool = False, markdown: bool = False
) -> int:
    """Compare the figures and instructions of published field guides with the planner: agreement, reason, right line.

    With a file or --text: those of its lines that are figures of ib_read_bw and the like, threads of a CPU, srun
    without GPUs, loader workers, conda's cudatoolkit, or switch off firewall or SELinux. Exit code: 1 if one of them
    is wrong.

    Parameters
    ----------
    guide
        Text file to judge in place of the published guides; - is stdin.
    text
        Lines to judge in place of a file, such as "HDR100: ib_send_bw 90 Gbit/s".
    json
        Print one JSON document: every claim with its figures, our inputs and the verdict.
    markdown
        Print the page docs/concepts/guides-checked.md.
    """
    from clusterwright.cli._show import show_json, show_text
    from clusterwright.plan.sizing.claims import Verdict, checked, judge_text
    from clusterwright.plan.sizing.claims.markdown_report import render_markdown

    is_own = bool(guide or text)
    listed = judge_text(_read(guide, text)) if is_own else checked()
    if json:
        show_json({"claims": listed})
    elif markdown:
        show_text(render_markdown(listed))
    else:
        _show(listed)
    return 1 if is_own and any(claim.verdict is Verdict.DISAGREE for claim in listed) else 0


def _read(guide: Path | None, text: str) -> str:
    """Return the text to judge: that of the file `guide` (`-` for stdin), if there is one, and `text` after it."""
    import shlex
    import sys

    from clusterwright.cli._texts import is_prose
    from clusterwright.cli.plan._inputs import read_table
    from clusterwright.errors import EXIT_USAGE, WrightError

    if guide is None:
        return text
    if is_prose(str(guide)):
        message = _("`{text}` is a text, not a file", text=str(guide)[:80])
        line = shlex.join(("wright", "plan", "claims", "--text", str(guide)))
        raise WrightError.from_code("usage", message, _("write {line}", line=line), exit_code=EXIT_USAGE)
    data = sys.stdin.buffer.read() if str(guide) == "-" else read_table(guide)
    return f"{data.decode(errors='replace')}\n{text}"


def _show(listed: Iterable[Checked]) -> None:
    from clusterwright.cli._show import show_message, show_table
    from clusterwright.plan.sizing.claims import markdown_report as pages

    rows = [
        (
            claim.row,
            _(claim.verdict),
            claim.statement,
            pages.computed(claim),
            pages.off(claim),
            claim.right,
            claim.reason,
        )
        for claim in listed
    ]
    if not rows:
        show_message(_("no line of the text is a claim that is known here"))
        return
    show_table(("row", "verdict", "guide", "computed", "difference", "instead", "reason"), rows)
