"""A rank: runs the job's command in this process, which the fork server forked or the agent started cold.

`python -m clusterwright.onhost.supervisor.host.rank COMMAND...`, where COMMAND is the arguments of `python`.
"""

from __future__ import annotations

import atexit
import errno
import os
import runpy
import sys
import threading
import traceback
from contextlib import suppress
from multiprocessing import util
from types import TracebackType
from typing import List, Optional, Sequence

from clusterwright.onhost.supervisor.hang import progress
from clusterwright.onhost.supervisor.host import forming, processes, wake
from clusterwright.onhost.supervisor.host.generation import EXIT

# The program's objects, referenced until this process ends. Freeing a DistributedDataParallel after
# `destroy_process_group` can deadlock: its last Gloo group joins a thread that waits for the GIL, which the freeing
# thread holds (torch 2.13, ~ProcessGroupGloo under ~Reducer).
_REFERENCES: List[object] = []
LONGEST_MESSAGE = 500  # characters of an exception in a message to the agent; the rank's log has all


def run(command: Sequence[str]) -> None:
    """Run the program of a rank in this process and exit with its code; does not return.

    An exception, or an exit with another code than 0, is reported to the agent before.
    """
    progress.show_agent()
    bind_workers()
    code: object = 0
    try:
        program(list(command))
    except SystemExit as leaving:
        _REFERENCES.append(leaving)  # and the objects of its frames
        if leaving.code not in (None, 0):
            message = getattr(leaving, "message", f"exited with {leaving.code!r}")
            _report(message, str(getattr(leaving, "cause", EXIT)))
        code = leaving.code
    except BaseException as error:  # noqa: BLE001 (any exception is reported and ends the rank)
        traceback.print_exception(type(error), error, _of_program(error))
        _report("".join(traceback.format_exception_only(type(error), error)).strip())
        code = 1
    exit_process(code)


def program(command: Sequence[str]) -> None:
    """Run a script, `-m MODULE` or `-c CODE` in this process as `python COMMAND` would; its exceptions are raised."""
    if command[0] == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = list(command[1:])
        _REFERENCES.append(runpy.run_module(command[1], run_name="__main__", alter_sys=True))
    elif command[0] == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *command[2:]]
        names = {"__name__": "__main__"}
        _REFERENCES.append(names)
        exec(compile(command[1], "<string>", "exec"), names)  # nosec B102 # noqa: S102 (the job's own code)
    elif not os.path.exists(command[0]):
        raise FileNotFoundError(
            errno.ENOENT, f"no such script on {os.uname().nodename}", os.path.abspath(command[0])
        )
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(command[0]))
        sys.argv = list(command)
        _REFERENCES.append(runpy.run_path(command[0], run_name="__main__"))


def _of_program(reason: BaseException) -> Optional[TracebackType]:
    """Return the exception's traceback from the program's first frame on, as `python COMMAND` would print it."""
    frames = reason.__traceback__
    while frames and frames.tb_next and frames.tb_frame.f_globals.get("__name__") != "__main__":
        frames = frames.tb_next
    return frames


def _report(message: str, cause: str = "") -> None:
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    wake.send(raised=local_rank, pid=os.getpid(), message=message[:LONGEST_MESSAGE], cause=cause)


def exit_process(code: object) -> None:
    """Exit with the code of SystemExit: wait for threads, run exit functions, flush files, free nothing.

    Another value than a number or None is printed and exits with 1. Python would free all modules: in a forked
    process that copies each page that it touches: 1.1 to 5.5 s for torch on a busy machine, against 0.1 s here. Exit
    functions of C libraries are not run.
    """
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 (the first step of Py_FinalizeEx)
    atexit._run_exitfuncs()  # noqa: SLF001 (its second step)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit((code or 0) & 0xFF)


class _Binding:
    """Fork hooks that bind multiprocessing workers to this process."""

    def __init__(self) -> None:
        self.parent = 0
        os.register_at_fork(before=self.note)
        util.register_after_fork(self, _Binding.bind)

    def note(self) -> None:
        """Before a fork: store this process as the parent if its main thread forks, else none.

        The death signal follows the forking thread.
        """
        self.parent = os.getpid() if threading.current_thread() is threading.main_thread() else 0

    def bind(self) -> None:
        """After a fork, in a process that multiprocessing started: make it die with the stored parent."""
        if self.parent:
            processes.die_with(self.parent)


_bindings: list[_Binding] = []


def bind_workers() -> None:
    """Make processes that multiprocessing forks, such as DataLoader workers, die with this rank; may be called twice.

    When an agent is killed, the kernel kills its ranks; their workers check for their parent every five
    seconds only, and would hold memory, files and ports of the store until then.
    """
    if not _bindings:
        _bindings.append(_Binding())


if __name__ == "__main__":
    forming.install()
    run(sys.argv[1:])
