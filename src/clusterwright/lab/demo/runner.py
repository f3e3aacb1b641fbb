"""Run the demo and write its report; exit 0 only if every claim of it holds."""

from __future__ import annotations

import json
import re
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clusterwright import lab
from clusterwright.config.job import Job
from clusterwright.config.load import load_cluster, load_job
from clusterwright.edge.clock import Clock, SystemClock
from clusterwright.edge.files import write_file_atomic
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.lab.demo import local_machine
from clusterwright.lab.demo.html_report import render_html
from clusterwright.lab.demo.on_lab import on_lab
from clusterwright.lab.demo.report import DemoFacts, DemoReport, report
from clusterwright.lab.demo.single_machine import on_single_machine
from clusterwright.lab.demo.talk import Talk

DEFAULT_JOB = Path(__file__).with_name("gpt.yaml")
PACKAGE = Path(__file__).parents[2]
LAB_FILES = (
    PACKAGE.parents[1] / "examples" / "lab" / "cluster.yaml",
    PACKAGE / "config" / "templates" / "lab.yaml",
)


def demo(
    out: Path,
    *,
    local: bool = False,
    cluster_file: Path | None = None,
    job: Job | None = None,
    write: Callable[[str], None],
) -> DemoReport:
    """Run the demo on a lab, or with `local` or where none is possible on this machine; return its report.

    Write report.json and report.html to `out`; `write` gets the lines of the log.
    """
    clock = SystemClock()
    talk = Talk(write, clock)
    facts = DemoFacts("lab", time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(clock.now())))
    facts.software, facts.machine = local_machine.software(), local_machine.machine()
    missing = () if local else lab.able()
    if local or missing:
        facts.mode = "local"
        facts.reasons["lab"] = "; ".join(finding.message for finding in missing) or _(
            "Requested with --local."
        )
        for finding in missing:
            talk.log(
                _(
                    "virtual hosts cannot be created on this machine: {message}\nfix: {fix}",
                    message=finding.message,
                    fix=finding.fix,
                )
            )
    with _record_errors(facts, talk), _terminable():
        chosen = job or load_job(DEFAULT_JOB)
        if facts.mode == "local":
            on_single_machine(chosen, facts, talk, clock, out)
        else:
            file = cluster_file or _lab_file()
            on_lab(load_cluster(file), file.name, chosen, facts, talk, clock)
    return _write(out, facts, talk, clock)


@contextmanager
def _record_errors(facts: DemoFacts, talk: Talk) -> Iterator[None]:
    """Log any error in a `with` block, also Ctrl-C, and store its text for the report; none leaves the block.

    The report is written in any case.
    """
    try:
        yield
    except WrightError as error:
        talk.log(_strip_colors(str(error)))
        facts.broke += [_strip_colors(finding.message) for finding in error.findings]
    except KeyboardInterrupt:
        facts.broke.append("interrupted")
    except Exception as error:  # noqa: BLE001 (the page reports it)
        talk.log(traceback.format_exc())
        facts.broke.append(f"{type(error).__name__}: {error}")


def _strip_colors(text: str) -> str:
    """Return a tool's output without ANSI colors and outer blanks."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).strip()


@contextmanager
def _terminable() -> Iterator[None]:
    """Make SIGTERM end the demo in a `with` block as Ctrl-C does (KeyboardInterrupt), so that the lab is removed."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    previous_handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler)


def _lab_file() -> Path:
    """Return the example lab's cluster file, from the source tree or the package."""
    lab_file = next((path for path in LAB_FILES if path.exists()), None)
    if lab_file is None:
        raise WrightError.from_code(
            "demo-no-cluster-file",
            _("examples/lab/cluster.yaml does not exist"),
            _("name a cluster file: --cluster FILE"),
            exit_code=EXIT_USAGE,
        )
    return lab_file


def _write(out: Path, facts: DemoFacts, talk: Talk, clock: Clock) -> DemoReport:
    talk.end()
    facts.seconds = talk.seconds
    began = clock.monotonic()
    result = report(facts)
    write_file_atomic(out / "report.json", json.dumps(result.document(), indent=1, allow_nan=False) + "\n")
    write_file_atomic(out / "report.html", render_html(result))
    talk.log(_("report: {out} ({seconds:.1f} s)", out=out / "report.html", seconds=clock.monotonic() - began))
    for problem in result.problems:
        talk.log(_("failed: {problem}", problem=problem))
    return result
