"""Ranks as real processes, forked from one that has imported torch already: 0.1 s in place of 2.

Reads one JSON object a line: `script`, `environ` (one dict for each rank), `log`, `seconds`; answers with the
exit codes. A rank that still runs when the time is over, or twenty seconds after another one failed, is killed.
"""

import json
import os
import runpy
import signal
import sys
import time
import traceback

import torch._dynamo
import torch.distributed.fsdp  # noqa: F401 (what torch imports late, each two seconds: for optimizers, DDP and fully_shard)

import clusterwright.runtime  # noqa: F401 (imported here, once, for all)

PATIENCE_S = 20


def main():
    say("ready")
    for line in sys.stdin:
        order = json.loads(line)
        pids = [begin(order, environ) for environ in order["environ"]]
        say(json.dumps(wait(pids, order["seconds"])))


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def begin(order, environ):
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        log = os.open(order["log"], os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.update(environ)
        sys.argv = [order["script"]]
        runpy.run_path(order["script"], run_name="__main__")
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1 if leaving.code else 0
        sys.stderr.write(f"{leaving.code}\n")
    except BaseException:  # noqa: BLE001 (whatever a rank dies of belongs in its log)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait(pids, seconds):
    codes = dict.fromkeys(pids)
    until = time.monotonic() + seconds
    while None in codes.values():
        for pid in [pid for pid, code in codes.items() if code is None]:
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                codes[pid] = os.waitstatus_to_exitcode(status)
                if codes[pid]:
                    until = min(until, time.monotonic() + PATIENCE_S)
            elif time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return list(codes.values())


if __name__ == "__main__":
    main()
