"""The hosts of a job, and its standby and successor jobs: in Slurm, or as local processes."""

from __future__ import annotations

import os
import re
import socket
import sys
import time
from typing import Dict, List, Optional, Sequence, Tuple

from clusterwright.onhost.lib.processes import DEVNULL, PIPE, Process, run, start
from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.lib.run_outcome import CANCELED, EXIT_CODES
from clusterwright.onhost.supervisor import inside
from clusterwright.onhost.supervisor.folder import Folder
from clusterwright.onhost.supervisor.host import processes
from clusterwright.onhost.supervisor.job import JobRecord

CONTROL_LIMIT_S = 30  # for slurmctld: its MessageTimeout is 10 s by default, and clients retry
AGENT = "clusterwright.onhost.supervisor.node"
STATE_LIMIT_S = 10.0  # a third of KillWait
# Ends of a job other than scancel (decision 0005). ExitCode is 0:1 when the batch host comes back without its batch
# step, and 0:9 when Slurm killed the batch step because the host was down.
NOT_BY_A_PERSON = r"Reason=TimeLimit|ExitCode=0:[19]\b"
FORWARDED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "SLURM_CONF")

AT_ONCE_S = 2.0  # a slurmctld that answers does so in 0.03 s
FORGOTTEN_S = 1.0  # an answer not read for this long is stale


class Slurm:
    """The hosts of this job's allocation: agents by srun, successor jobs by sbatch."""

    def __init__(self, record: JobRecord, folder: Folder) -> None:
        self.job_id = os.environ["SLURM_JOB_ID"]
        self._record, self._folder = record, folder
        self._steps: List[Process] = []
        self._standby: Optional[str] = None
        self._reach = Reach(("scontrol", "--oneliner", "show", "job", self.job_id), "JobState=RUNNING")

    def hosts(self) -> Tuple[str, ...]:
        """Return the hosts of the allocation in Slurm's order; raise OSError if scontrol fails."""
        code, out = slurm("scontrol", "show", "hostnames", os.environ["SLURM_JOB_NODELIST"])
        if code != 0 or not out.split():
            raise OSError(f"scontrol show hostnames: {out}")
        return tuple(out.split())

    def start_agents(self, hosts: Sequence[str], address: str, port: int) -> None:
        """Start one job step with an agent on each host; losing a host does not end it on the others.

        The agents connect to the supervisor at address and port.
        """
        count = str(len(hosts))
        launch = self._record.launch
        gres = [f"--gres={launch.gres}"] if launch.gres else []
        step = [
            "srun",
            "--overlap",
            "--exact",
            "--no-kill",
            "--kill-on-bad-exit=0",
            "--wait=0",
            "--export=ALL",
            "--quiet",
            f"--nodes={count}",
            f"--ntasks={count}",
            "--ntasks-per-node=1",
            f"--nodelist={','.join(hosts)}",
            f"--cpus-per-task={os.environ.get('SLURM_CPUS_PER_TASK', '1')}",
            *gres,
        ]
        module = module_arguments(AGENT, self._folder.path, address, str(port))
        image = inside.parse_image(launch.image) if launch.image else None
        step += image.step() if image else []
        agent = image.command(module) if image else [sys.executable, *module]
        log = self._folder.path_to("logs", "agents.log")
        self._steps.append(processes.start([*step, *agent], os.environ, log))

    def in_reach(self) -> Optional[bool]:
        """Return whether slurmctld responds and the job runs; None while the query is pending."""
        return self._reach.answer()

    def reap(self) -> None:
        """Collect the srun processes of steps that have ended."""
        self._steps = [step for step in self._steps if step.poll() is None]

    def end(self) -> None:
        """Kill the srun processes of all steps; a step on a dead host would never end by itself."""
        for step in self._steps:
            step.kill()
            step.wait()

    def submit_standby(self) -> Optional[str]:
        """Submit a job that starts if this one fails, even by the loss of this host; return the error, None without."""
        dependency = (f"--dependency=afternotok:{self.job_id}", "--kill-on-invalid-dep=yes")
        self._standby, error = submit(self._folder, self._record, dependency)
        self._folder.write("standby.json", {"job_id": self._standby or ""})
        return None if self._standby else error

    @property
    def has_standby(self) -> bool:
        """Return True if a standby job, which starts if this one fails, is submitted."""
        return bool(self._standby)

    def cancel_standby(self) -> None:
        """Cancel the standby job if there is one that was not canceled yet."""
        if self._standby and slurm("scancel", self._standby)[0] == 0:
            self._standby = None

    def submit_successor(self, lost_hosts: Sequence[str]) -> Tuple[str, str]:
        """Submit the successor job without the lost hosts, and cancel the standby job; return its id, "".

        If sbatch refuses it, an empty id and the error.
        """
        job_id, error = succeed(self._folder, self._record, lost_hosts)
        if job_id:
            self.cancel_standby()
        return job_id, error

    def was_cancelled(self) -> bool:
        """Return True if the user canceled the job; a preempted one has a PreemptTime."""
        code, out = slurm("scontrol", "--oneliner", "show", "job", self.job_id, limit_s=STATE_LIMIT_S)
        ending = "JobState=COMPLETING" in out or "JobState=CANCELLED" in out
        aside = re.search("PreemptTime=[0-9]", out) is not None
        return code == 0 and ending and not aside and not re.search(NOT_BY_A_PERSON, out)

    def cancel_if_canceled(self, code: int) -> int:
        """Cancel the Slurm job if `code` is that of a canceled run and nobody canceled it; return `code`.

        Slurm would record it as a failure. Called last: Slurm then ends this process.
        """
        if code == EXIT_CODES[CANCELED] and not self.was_cancelled():
            slurm("scancel", self.job_id)
        return code


class Inherited(Slurm):
    """The hosts of a job whose batch step is lost: this supervisor must end the job."""

    def __init__(self, record: JobRecord, folder: Folder, hosts: Tuple[str, ...]) -> None:
        super().__init__(record, folder)
        self._hosts = hosts
        self._standby = folder.read("standby.json").get("job_id") or None

    def hosts(self) -> Tuple[str, ...]:
        """Return the hosts that the job started with."""
        return self._hosts

    def end(self) -> None:
        """Kill this supervisor's srun processes and cancel the job, which would run on without its batch step."""
        super().end()
        slurm("scancel", self.job_id)


class WithoutSlurm:
    """What a scheduler in place of Slurm needs not do: it has no standby jobs, and nobody else records its outcome."""

    has_standby = False  # whether a job that starts if this one fails is submitted

    def submit_standby(self) -> Optional[str]:
        """Return None, for no error: without Slurm, whoever started this supervisor starts the next one."""
        return None

    def cancel_standby(self) -> None:
        """Do nothing: without Slurm there is no standby job."""

    def cancel_if_canceled(self, code: int) -> int:
        """Return `code` and do nothing: only Slurm has records of its own."""
        return code


class Local(WithoutSlurm):
    """Local processes in place of hosts; local_scheduler.py, in place of Slurm, starts the successor."""

    def __init__(self, record: JobRecord, folder: Folder) -> None:
        self.job_id = str(os.getppid())
        self._record, self._folder = record, folder
        self._agents: Dict[str, Process] = {}

    def hosts(self) -> Tuple[str, ...]:
        """Return `local1`, `local2` and so on: one per host and standby host of the job."""
        job = self._record.job
        return tuple(f"local{number}" for number in range(1, job.nodes + job.recovery.spare_nodes + 1))

    def start_agents(self, hosts: Sequence[str], address: str, port: int) -> None:
        """Start one agent per host as a local process, which connects to the supervisor at address and port."""
        for host in hosts:
            agent = [sys.executable, *module_arguments(AGENT, self._folder.path, address, str(port))]
            env = {**os.environ, "CLUSTERWRIGHT_HOST": host}
            self._agents[host] = processes.start(agent, env, self._folder.path_to("logs", "agents.log"))

    def in_reach(self) -> Optional[bool]:
        """Return True: local hosts are never isolated."""
        return True

    def reap(self) -> None:
        """Collect the exit codes of local agents that have ended, so that no zombies remain."""
        for agent in self._agents.values():
            agent.poll()

    def end(self) -> None:
        """Kill the agents that still run, and wait for their ends."""
        for agent in self._agents.values():
            agent.kill()
            agent.wait()

    def submit_successor(self, lost_hosts: Sequence[str]) -> Tuple[str, str]:  # noqa: ARG002 (Slurm's signature)
        """Return a job id and no error: local_scheduler.py starts the next supervisor after exit code 75."""
        return f"{self.job_id}", ""

    def was_cancelled(self) -> bool:
        """Return True: nothing preempts a local run, so only the user ends it from outside."""
        return True


def host_name() -> str:
    """Return the name of this host in the run, as the hostfile or Slurm has it; else its own."""
    names = (os.environ.get(name) for name in ("CLUSTERWRIGHT_HOST", "SLURMD_NODENAME"))
    return next(filter(None, names), "") or socket.gethostname()


def in_reach(job_id: str) -> bool:
    """Return True if slurmctld reports within 2 s that the job runs."""
    code, out = slurm("scontrol", "--oneliner", "show", "job", job_id, limit_s=AT_ONCE_S)
    return code == 0 and "JobState=RUNNING" in out


def slurm(*argv: str, limit_s: float = CONTROL_LIMIT_S) -> Tuple[int, str]:
    """Run a Slurm command; return its exit code and its output; 1 and the reason if it was stopped."""
    result = run(argv, limit_s, merge=True)
    return (1, f"{argv[0]}: {result.stopped}") if result.stopped else (result.code, result.out.strip())


def submit(folder: Folder, record: JobRecord, more: Sequence[str]) -> Tuple[str, str]:
    """Submit a job with the run's script and the options `more`; return its id and "", or "" and the error of sbatch.

    sbatch gets only a few variables of this job: SBATCH_ variables would override the script's options.
    """
    # the successor starts without standby hosts rather than wait for them
    job = record.job
    fewest = record.min_nodes if job.recovery.on_host_loss == "shrink" else job.nodes
    sizes = f"--nodes={fewest}-{job.nodes + job.recovery.spare_nodes}"
    env = [f"{name}={os.environ[name]}" for name in FORWARDED_VARIABLES if name in os.environ]
    code, out = slurm("env", "-i", *env, "sbatch", "--parsable", sizes, *more, folder.path_to("job.sh"))
    job_id = out.splitlines()[-1].split(";")[0] if code == 0 and out else ""
    return (job_id, "") if job_id.isdigit() else ("", out)


def succeed(folder: Folder, record: JobRecord, lost_hosts: Sequence[str]) -> Tuple[str, str]:
    """Submit a successor job that excludes the lost hosts, or on any hosts if Slurm refuses that.

    Return its id and "", or "" and the error of sbatch.
    """
    job_id, error = submit(folder, record, (f"--exclude={','.join(lost_hosts)}",)) if lost_hosts else ("", "")
    return (job_id, error) if job_id else submit(folder, record, ())


class Reach:
    """A repeated test by a command in the background: whether its output contains `expected_text`."""

    def __init__(self, command: Sequence[str], expected_text: str, limit_s: float = AT_ONCE_S) -> None:
        self._command, self._expected_text, self._limit_s = list(command), expected_text, limit_s
        self._process: Optional[Process] = None
        self._deadline = 0.0

    def answer(self) -> Optional[bool]:
        """Return whether the test has succeeded; it starts the command if none runs.

        None while it runs; False also after the time limit, or if it cannot be started.
        """
        now = time.monotonic()
        if self._process and now > self._deadline + FORGOTTEN_S:
            self._end()
        if not self._process:
            try:
                self._process = start(self._command, stdout=PIPE, stderr=DEVNULL)
            except OSError:
                return False
            self._deadline = now + self._limit_s
        if self._process.poll() is None and now < self._deadline:
            return None
        return self._expected_text in self._end()

    def _end(self) -> str:
        """Kill the test's command if it still runs, and forget it; return its output, "" if killed or without one."""
        process, self._process = self._process, None
        if process is None:
            return ""
        is_running = process.poll() is None
        process.kill()
        output: bytes = process.communicate()[0]
        return "" if is_running else output.decode(errors="replace")
