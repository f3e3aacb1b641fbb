"""Start a program once, as Slurm or MPI do: `python -m clusterwright.onhost.supervisor.unsupervised RUN`.

It is the batch step. Ranks are not monitored: a failed rank ends all of them, and they restart only as often
as `recovery.restarts` allows. Logs, events, outcome and goodput accounting are those of every run.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from typing import Dict, List, Optional, Tuple

from clusterwright.onhost.adapters import mpi_build, registry, task_variables
from clusterwright.onhost.adapters.launcher import Allocation
from clusterwright.onhost.lib.processes import Process
from clusterwright.onhost.lib.processes import run as run_program
from clusterwright.onhost.lib.run_module import module_arguments
from clusterwright.onhost.lib.run_outcome import CANCELED, EXIT_CODES, FAILED, FINISHED
from clusterwright.onhost.supervisor import console, network, schedulers, terms, upload_processes
from clusterwright.onhost.supervisor.folder import Events, Folder, open_run
from clusterwright.onhost.supervisor.goodput import closing
from clusterwright.onhost.supervisor.host import forming, processes
from clusterwright.onhost.supervisor.job import JobRecord
from clusterwright.onhost.supervisor.root_cause import exits

TICK_S = 0.2
BEAT_S = 1.0
MPI_TIMEOUT_S = 20  # for ompi_info, which reads all plug-ins of Open MPI
TERMINATE_S = 20.0  # of KillWait's 30 s
BEGIN = ("-u", *module_arguments("clusterwright.onhost.adapters.begin"))
# srun: error: gpu-node2: task 3: Exited with exit code 1
_TASK = re.compile(r"srun: error: (\S+): tasks? (\d+)[^:]*: (.*)")


class UnsupervisedJob:
    """One job of a run whose launcher starts the ranks itself, without agents."""

    def __init__(self, record: JobRecord, folder: Folder) -> None:
        self.record, self.folder = record, folder
        self.launcher = registry.launcher(record.launch.launcher)
        self.job_id = os.environ["SLURM_JOB_ID"]
        self.scheduler = schedulers.Slurm(record, folder)
        self.hosts = self.scheduler.hosts()[: record.job.nodes]
        self.host = os.environ.get("SLURMD_NODENAME", self.hosts[0])
        number = folder.join_chain(self.job_id)
        self.events = Events(folder, f"supervisor-{number}", self.host)
        self.stop_reason = ""
        self.beaten = 0.0

    def run(self) -> int:
        """Run the job's program, again after failures up to `recovery.restarts` times, and record the outcome.

        Return the exit code of that outcome.
        """
        self.events.write(
            "job_start", 0, job_id=self.job_id, hosts=list(self.hosts), ranks=self.record.job.gpus_per_node
        )
        if "mpirun" in self.launcher.programs and (note := mpi_note()):
            console.out(f"{time.strftime('%H:%M:%S')} {note}")
        first_generation = self.folder.last_generation() + 1
        for generation in range(first_generation, first_generation + 1 + self.record.launch.restarts):
            code, reason = self.run_once(generation)
            if code == 0 or self.stop_reason:
                break
        outcome = CANCELED if self.stop_reason else FAILED if code else FINISHED
        reason = self.stop_reason or reason or "the program exited with code 0"
        console.out(f"{time.strftime('%H:%M:%S')} {outcome}: {reason}")
        self.events.write("job_end", generation, outcome=outcome, reason=reason)
        document = {"outcome": outcome, "code": EXIT_CODES[outcome], "reason": reason, "time": time.time()}
        self.folder.write("ended.json", document)
        closing.close(self.folder, lambda text: console.out(f"{time.strftime('%H:%M:%S')} {text}"))
        return EXIT_CODES[outcome]

    def run_once(self, generation: int) -> Tuple[int, str]:
        """Run the program once as a generation, and wait for its end; return its exit code and the first failure.

        The failure is "" if it succeeded.
        """
        compute = self.record.launch.compute
        interface = network.inside(compute, network.interfaces())
        if interface is None:
            return 1, f"no address inside the compute network {compute}"
        port = network.free_port(interface[1])
        logs = self.folder.path_to("logs", str(generation))
        os.makedirs(logs, exist_ok=True)
        log = os.path.join(logs, "launcher.log")
        line = {"address": interface[1], "port": port, "hosts": list(self.hosts)}
        self.events.write("generation_start", generation, **line)
        process = processes.start(
            self.argv(),
            self.environment(interface[1], port, logs),
            "/dev/stdout" if self.batch else log,
            err="/dev/stderr" if self.batch else log,
            cwd=self.record.launch.workdir or self.folder.path,
        )
        code = self.wait(process)
        reason = "" if code == 0 else self.reason(code, log, logs)
        ended = FINISHED if code == 0 else CANCELED if self.stop_reason else FAILED
        self.events.write("generation_end", generation, reason=ended, first_failure=reason)
        return code, reason

    @property
    def batch(self) -> bool:
        """Return True if the program is a batch script that starts its own steps."""
        return self.launcher.kind == "batch"

    def argv(self) -> List[str]:
        """Return the launcher's command line; begin.py turns each of its processes into the program."""
        if self.launcher.job_command is None:
            raise AssertionError(f"launcher {self.record.launch.launcher} is supervised")
        job, cpus = self.record.job, int(os.environ.get("SLURM_CPUS_PER_TASK", "1"))
        arguments = [sys.executable, *BEGIN, self.launcher.kind, job.framework, *self.record.launch.command]
        return self.launcher.job_command(Allocation(self.hosts, job.gpus_per_node, cpus), arguments)

    def environment(self, address: str, port: int, logs: str) -> Dict[str, str]:
        """Return the environment of the program, with what begin.py needs in each of its tasks."""
        variables = {
            "CLUSTERWRIGHT_HOSTS": ",".join(self.hosts),
            "CLUSTERWRIGHT_RANKS": str(self.record.job.gpus_per_node),
            "CLUSTERWRIGHT_FIRST": f"{address}:{port}",
            "CLUSTERWRIGHT_COMPUTE": self.record.launch.compute,
            "CLUSTERWRIGHT_RUN": self.folder.path,
            forming.FOLDER: os.path.join(logs, "forming"),
            "PYTHONPATH": forming.python_path(os.environ),
            **terms.forming_limit(self.record),
            **terms.checkpoints(self.record),
        }
        if self.batch:
            working_folder = self.record.launch.workdir or self.folder.path
            variables.update(
                task_variables.variables(self.record.launch.command, self.folder.path, working_folder)
            )
        else:
            variables["CLUSTERWRIGHT_LOGS"] = logs
        return {**os.environ, **variables}

    def wait(self, process: Process) -> int:
        """Wait for the program and return its exit code, negative after a signal; write the run's heartbeat meanwhile.

        A stop request terminates it, and kills it after TERMINATE_S.
        """
        deadline = float("inf")
        while process.poll() is None:
            now = time.monotonic()
            if now - self.beaten >= BEAT_S:
                self.beaten = now
                self.folder.write("pulse", {"job_id": self.job_id, "host": self.host})
                if not self.stop_reason and self.folder.has("cancelled"):
                    self.stop_reason = "canceled by the user"
            if self.stop_reason and deadline == float("inf"):
                deadline = now + TERMINATE_S
                process.send_signal(signal.SIGTERM)
            if now > deadline:
                process.kill()
            time.sleep(TICK_S)
        return int(process.returncode)

    def reason(self, code: int, log: str, logs: str) -> str:
        """Return why the program failed: the first failed task with its last output, else the launcher's output.

        `code` is the launcher's exit code, `log` its log, `logs` the folder of the tasks' logs.
        """
        line = next(filter(None, map(_TASK.match, exits.tail(log).splitlines())), None)
        if line is None:
            message = exits.read_last_output(log, signalled=code < 0)[0] if not self.batch else ""
            return message or f"the program exited with code {code}"
        host, task = line[1], int(line[2])
        local = task % self.record.job.gpus_per_node if self.launcher.has_task_per_rank else 0
        message = exits.read_last_output(os.path.join(logs, host, f"{local}.err"), signalled=False)[0]
        return f"task {task} on {host}: {message or line[3]}"


def mpi_note() -> str:
    """Return the note that this host's MPI is not CUDA-aware; "" if it is, or cannot be determined."""
    result = run_program(["sh", "-c", mpi_build.COMMAND], MPI_TIMEOUT_S)
    try:
        build = mpi_build.parse_mpi_build(result.out)
    except ValueError:
        return ""
    if build.cuda is not False:
        return ""
    return f"{build} is built without CUDA: GPU memory passed to MPI calls crashes the program; NCCL is not affected"


def main() -> int:
    """Run the program of the run in argument 1 without agents, unless the run has ended; return the exit code.

    0 if the run has ended, 1 if its upload is not ready.
    """
    folder, record = open_run(sys.argv[1])
    if folder.has("ended.json"):
        console.out("the run is over already; nothing to do")
        return 0
    if not upload_processes.is_ready(record, folder):
        return 1
    job: Optional[UnsupervisedJob] = None

    def request_stop(received: int, _frame: object) -> None:
        if job:
            job.stop_reason = job.stop_reason or signal.Signals(received).name

    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, request_stop)
    job = UnsupervisedJob(record, folder)
    with upload_processes.uploads(record, folder):
        code = job.run()
    return job.scheduler.cancel_if_canceled(code) if folder.has("cancelled") else code


if __name__ == "__main__":
    sys.exit(main())
