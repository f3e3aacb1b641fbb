"""Build the loop of a cluster file: its journal, lock and connection to the hosts."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.diagnose.diagnosis import Diagnosis
from clusterwright.diagnose.gather.ended import gather
from clusterwright.diagnose.gather.run_findings import has_fault
from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import read
from clusterwright.diagnose.reading.read import TimeBudget
from clusterwright.edge.host import needs_sudo
from clusterwright.edge.secrets import state_folder
from clusterwright.edge.ssh import FromHost, Remote, Ssh
from clusterwright.errors import WrightError
from clusterwright.heal.actions import Executor
from clusterwright.heal.journal import Journal
from clusterwright.heal.loop.action_runner import ActionRunner
from clusterwright.heal.loop.diagnosis_time import DiagnosisTime
from clusterwright.heal.loop.gather import Gatherer, checks_of
from clusterwright.heal.loop.loop import Loop
from clusterwright.heal.moment import Moment
from clusterwright.heal.observation import FaultFinding
from clusterwright.heal.policy import policy_of
from clusterwright.heal.rule import rules
from clusterwright.i18n import _, in_language
from clusterwright.launch.run import runs_folder
from clusterwright.onhost.lib.run_outcome import CANCELED
from clusterwright.onhost.lib.safe_reader import DATA_ERRORS
from clusterwright.onhost.provision.reboots import BOOT_ID

ON_CONTROL = Path("/etc/clusterwright/heal")  # deployed on the control host by the role `heal`
STATE_FOLDER = Path("/var/lib/clusterwright/heal")

JOB_S = 10.0  # processor time to search the logs of a failed job: 3 GB of ordinary ones; hosts are not polled meanwhile
SURE = 0.6  # our choice; a diagnosis with less confidence is no evidence


def moment() -> Moment:
    """Return the current time of this machine as a Moment."""
    return Moment(Path(BOOT_ID).read_text().strip(), time.clock_gettime(time.CLOCK_BOOTTIME))


def on_control(cluster: Cluster) -> Remote:
    """Return the connection from the control host to the hosts, with heal's own SSH key."""
    sudo = needs_sudo(cluster.ssh.user, lab=cluster.lab is not None)
    is_unit = "INVOCATION_ID" in os.environ  # systemd.exec(5)
    return FromHost(cluster.control.name, Ssh(config=ON_CONTROL / "ssh_config", sudo=sudo), is_unit)


def folder_of(cluster: Cluster, *, is_control: bool) -> Path:
    """Return the folder of heal's journal, created if needed: the unit's on the control host, else of this user."""
    folder = STATE_FOLDER if is_control else state_folder(cluster.name) / "heal"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def journal_of(folder: Path) -> Journal:
    """Open the journal of the folder; create it if it is missing."""
    return Journal(folder / "intents.sqlite")


@contextmanager
def loop_lock(folder: Path) -> Iterator[None]:
    """Hold the file lock of the self-healing loop in a `with` block, without waiting for it.

    The kernel releases it when the process ends.

    Raises:
        WrightError: another process holds it.
    """
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WrightError.from_code(
                "heal-runs-already",
                _("another `wright heal` process holds {folder}/lock", folder=folder),
                _("wait until the other `wright heal` ends, or stop it; `wright heal log` shows its actions"),
            ) from None
        yield
    finally:
        os.close(handle)


def loop_of(
    cluster: Cluster, source: str, remote: Remote, journal: Journal, log: Callable[[str], None]
) -> Loop:
    """Build the loop of self-healing for a cluster, without starting it; `source` is the path of its cluster file."""
    policy, executor = policy_of(cluster), Executor(cluster, remote, source)
    runner = ActionRunner(journal, executor, policy, moment, time.time, log)
    diagnose = partial(why_of, cluster, remote)
    gatherer = Gatherer(cluster, remote, checks_of(cluster, remote), diagnose, log, DiagnosisTime())
    return Loop(journal, gatherer, runner, policy, rules(), cluster.heal.check_interval, log)


def watch(loop: Loop, every_s: float, sleep: Callable[[float], None]) -> None:
    """Run the loop every `every_s` seconds until the process is stopped; log polls that fail as a whole."""
    while True:
        begun = time.monotonic()
        try:
            loop.tick()
        except WrightError as error:
            loop.log(str(error))
        except DATA_ERRORS as error:
            loop.log(f"{type(error).__name__}: {error}")
        sleep(max(0.0, every_s - (time.monotonic() - begun)))


def why_of(cluster: Cluster, remote: Remote, job: str, seconds: float) -> tuple[FaultFinding, ...]:
    """Return findings about the hosts that a root cause of the failed job identifies; its files are read for `seconds`.

    A canceled run without a fault gives none.

    Raises:
        WrightError: the control host is unreachable.
    """
    runs = runs_folder(cluster) if cluster.shared_folder else "/nowhere"
    budget = TimeBudget(most_s=JOB_S)
    gathered = gather(remote, cluster.control.name, runs, job, budget, seconds)
    with in_language("en"):  # drain reasons and the journal are English
        judged = judge(read(list(gathered.sources), knowledge(), budget))
        diagnoses = judged if gathered.run_state != CANCELED or has_fault(gathered.events) else []
    return tuple(findings_of_diagnoses(diagnoses, job))


def findings_of_diagnoses(diagnoses: list[Diagnosis], job: str) -> Iterator[FaultFinding]:
    """Yield a finding for each confident root cause whose host further jobs should not use."""
    for diagnosis in diagnoses:
        if diagnosis.role == "root" and diagnosis.exclude and diagnosis.confidence >= SURE:
            yield FaultFinding(
                diagnosis.exclude, "diagnosis", diagnosis.mode, f"job {job}: {diagnosis.cause}"[:200], job=job
            )
