"""Seconds from `wright dev` to the first answer of JupyterLab through the tunnel, on a lab that is applied.

    python -m bench.dev cluster.yaml --as bob [--times 10]

Each round: the command, the printed tunnel, GET /api/status with the token until it returns 200; then `wright dev
stop`. Prints each round, the median, the worst, and the load of the machine, on which all lab hosts run.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from urllib.request import ProxyHandler, Request, build_opener

WRIGHT = (sys.executable, "-c", "from clusterwright.cli import main; main()", "dev")
LIMIT_S = 120


def main() -> None:
    """Measure and print the rounds."""
    words = argparse.ArgumentParser()
    words.add_argument("cluster")
    words.add_argument("--as", dest="user", required=True)
    words.add_argument("--times", type=int, default=10)
    asked = words.parse_args()
    rows = [once(asked.cluster, asked.user) for _ in range(asked.times)]
    print("printed s  answered s  load of 1 min")
    for printed, answered, load in rows:
        print(f"{printed:9.1f}  {answered:10.1f}  {load:13.1f}")
    answers = [answered for _, answered, _ in rows]
    print(
        f"first answer: median {statistics.median(answers):.1f} s, worst {max(answers):.1f} s, of {len(answers)}"
    )
    print(f"{os.cpu_count()} cores")


def once(cluster: str, user: str) -> tuple[float, float, float]:
    """Return seconds until the address is printed, seconds until it answers, and the load before."""
    load, began = os.getloadavg()[0], time.monotonic()
    argv = [*WRIGHT, "--cluster", cluster, "--as", user, "--json"]
    up = json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True, timeout=LIMIT_S).stdout)
    printed = time.monotonic() - began
    tunnel = subprocess.Popen(up["tunnel"], stdin=subprocess.DEVNULL)
    try:
        until_it_answers(up["url"].partition("/lab?")[0], up["token"])
        return printed, time.monotonic() - began, load
    finally:
        tunnel.terminate()
        tunnel.wait()
        subprocess.run([*WRIGHT, "stop", up["job"], "--cluster", cluster], check=True, timeout=LIMIT_S)
        while sessions(cluster):
            time.sleep(0.5)


def until_it_answers(base: str, token: str) -> None:
    """Poll until the server returns 200 for its token."""
    request = Request(f"{base}/api/status", headers={"Authorization": f"token {token}"})
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with contextlib.suppress(OSError), build_opener(ProxyHandler({})).open(request, timeout=10) as answer:
            if answer.status == 200:
                return
        time.sleep(0.05)
    raise SystemExit(f"no answer from {base}")


def sessions(cluster: str) -> list[dict[str, str]]:
    """Return the sessions that are pending or running."""
    argv = [*WRIGHT, "list", "--json", "--cluster", cluster]
    return json.loads(subprocess.run(argv, stdout=subprocess.PIPE, check=True, timeout=LIMIT_S).stdout)


if __name__ == "__main__":
    main()
