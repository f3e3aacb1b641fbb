"""The demo from its first word to its report; exit 0 only if everything that it claims happened."""

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
from clusterwright.edge.files import write_whole
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.lab.demo import here
from clusterwright.lab.demo.on_lab import on_lab
from clusterwright.lab.demo.one_machine import on_one_machine
from clusterwright.lab.demo.page import page
from clusterwright.lab.demo.report import Report, Told, report
from clusterwright.lab.demo.talk import Talk

OWN_JOB = Path(__file__).with_name("gpt.yaml")
PACKAGE = Path(__file__).parents[1]
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
) -> Report:
    """What happened, with report.json and report.html written to `out`; on a lab where one can be made."""
    clock = SystemClock()
    talk = Talk(write, clock)
    told = Told("lab", time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(clock.now())))
    told.software, told.machine = here.software(), here.machine()
    missing = () if local else lab.able()
    if local or missing:
        told.mode = "local"
        told.reasons["lab"] = (
            "; ".join(found.message for found in missing) or "It was asked for with --local."
        )
        for found in missing:
            talk.say(f"no hosts can be made here: {found.message}\nmend: {found.mend}")
    with _kept(told, talk), _terminable():
        chosen = job or load_job(OWN_JOB)
        if told.mode == "local":
            on_one_machine(chosen, told, talk, clock, out)
        else:
            file = cluster_file or _lab_file()
            on_lab(load_cluster(file), file.name, chosen, told, talk, clock)
    return _write(out, told, talk, clock)


@contextmanager
def _kept(told: Told, talk: Talk) -> Iterator[None]:
    """Whatever breaks is said and kept for the report, which is written in any case."""
    try:
        yield
    except WrightError as error:
        talk.say(_plain(str(error)))
        told.broke += [_plain(finding.message) for finding in error.findings]
    except KeyboardInterrupt:
        told.broke.append("interrupted")
    except Exception as error:  # noqa: BLE001 (said on the page; the next asking may well succeed)
        talk.say(traceback.format_exc())
        told.broke.append(f"{type(error).__name__}: {error}")


def _plain(text: str) -> str:
    """What a tool said, without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text).strip()


@contextmanager
def _terminable() -> Iterator[None]:
    """A SIGTERM ends the demo as Ctrl-C does, so that the lab is taken down."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _lab_file() -> Path:
    """The file of the example's lab, in the source tree or in the package."""
    found = next((path for path in LAB_FILES if path.exists()), None)
    if found is None:
        raise WrightError.of(
            "demo-no-cluster-file",
            "examples/lab/cluster.yaml is not there",
            "name one: --cluster FILE",
            exit_code=EXIT_USAGE,
        )
    return found


def _write(out: Path, told: Told, talk: Talk, clock: Clock) -> Report:
    talk.end()
    told.seconds = talk.seconds
    began = clock.monotonic()
    made = report(told)
    write_whole(out / "report.json", json.dumps(made.document(), indent=1, allow_nan=False) + "\n")
    write_whole(out / "report.html", page(made))
    talk.say(f"report: {out / 'report.html'} ({clock.monotonic() - began:.1f} s)")
    for problem in made.problems:
        talk.say(f"not so: {problem}")
    return made
