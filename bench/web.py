"""First paint of `wright web` with 1,000 nodes and 5,000 jobs, and cost of 100 viewers: `bench/web.py [NODES JOBS]`.

The command runs as for a user; a program in place of ssh prints recorded output of the control host (bench/top.py),
different each time within half a minute. Chromium is real. Viewers read the stream and request their page of jobs
at each change, as the page does.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.top import WRIGHT, prepared

REPEATS, VIEWERS, SECONDS = 5, 100, 60
GOAL_S, GOAL_CORES = 1.0, 1.0
MOMENTS = 6
TICK = os.sysconf("SC_CLK_TCK")

DRAWN = """
const look = () => document.querySelectorAll('.tile').length >= COUNT
  ? requestAnimationFrame(() => { window.drawn = performance.now(); }) : requestAnimationFrame(look);
look();
"""


def main() -> int:
    """Measure first paint, then many viewers."""
    nodes, jobs = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (1000, 5000)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        environ = prepared(folder, nodes, jobs) | {"XDG_STATE_HOME": str(folder)}
        moving(folder)
        print(f"{nodes} nodes, {jobs} jobs, load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
        with subprocess.Popen(
            [WRIGHT, "web", "--port", "0"], env=environ, stderr=subprocess.PIPE, text=True
        ) as server:
            try:
                url = re.search(r"http://\S+", server.stderr.readline())[0]
                painted = paints(url, nodes)
                cores = asyncio.run(watched(url, server.pid))
            finally:
                server.terminate()
    reached = painted < GOAL_S and cores < GOAL_CORES
    print(
        f"goal: first paint under {GOAL_S} s, {VIEWERS} viewers under {GOAL_CORES:.0f} core; "
        f"{'met' if reached else 'MISSED'}"
    )
    return 0


def moving(folder: Path) -> None:
    """Replace the recorded output by several that differ; ssh prints another one every five seconds."""
    said = json.loads((folder / "said.json").read_text())
    for moment in range(MOMENTS):
        dice = random.Random(moment)
        for of_node in said["measures"]["utilisation"].values():
            for gpu, use in of_node.items():
                of_node[gpu] = min(1.0, max(0.0, use + dice.uniform(-0.05, 0.05)))
        for run in said["runs"].values():
            run["step"] += 3
        said["now"] += 5
        (folder / f"said{moment}.json").write_text(json.dumps(said))
    (folder / "ssh").write_text(
        f"#!/bin/sh\ncat >/dev/null\nexec cat {folder}/said$(( $(date +%s) / 5 % {MOMENTS} )).json\n"
    )


def paints(url: str, nodes: int) -> float:
    """Print seconds to first paint and last tile, in fresh browser contexts; return the median first paint."""
    first, last = [], []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(REPEATS + 1):
            context = browser.new_context()
            page = context.new_page()
            page.set_default_timeout(120_000)
            page.add_init_script(DRAWN.replace("COUNT", str(nodes)))
            page.goto(url)
            while (
                page.evaluate("window.drawn") is None
            ):  # evaluated from outside: the page's CSP blocks injected scripts
                time.sleep(0.05)
            paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            first.append(paint / 1000)
            last.append(page.evaluate("window.drawn") / 1000)
            context.close()
        browser.close()
    for name, all_of in (("first paint", first[1:]), ("all nodes drawn", last[1:])):
        print(f"{name:16} {statistics.median(all_of):.2f} s ({min(all_of):.2f} to {max(all_of):.2f})")
    return statistics.median(first[1:])


async def watched(url: str, pid: int) -> float:
    """Print the CPU cores that the server uses with no, one and many viewers; return the last figure."""
    host, port = re.search(r"//([^:]+):(\d+)", url).groups()
    cores = 0.0
    for viewers in (1, VIEWERS):
        seen: list[int] = [0, 0]
        tasks = [asyncio.create_task(viewer(host, int(port), seen)) for _ in range(viewers)]
        await asyncio.sleep(8)
        before, started, at = spent(pid), time.monotonic(), list(seen)
        await asyncio.sleep(SECONDS)
        took = time.monotonic() - started
        cores = (spent(pid) - before) / took
        print(
            f"{viewers:3} viewers      {cores:.2f} cores, {(seen[0] - at[0]) / took:.1f} changes/s, "
            f"{(seen[1] - at[1]) / took / 1e6:.2f} MB/s"
        )
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return cores


async def viewer(host: str, port: int, seen: list[int]) -> None:
    """Simulate one page: read the stream, and request the jobs at each change."""
    stream, out = await asyncio.open_connection(host, port, limit=2**22)
    asks, asked = await asyncio.open_connection(host, port, limit=2**22)
    out.write(b"GET /api/stream HTTP/1.1\r\nhost: localhost\r\n\r\n")
    try:
        while line := await stream.readline():
            seen[1] += len(line)
            if line.startswith(b"event: change"):
                seen[0] += 1
                asked.write(b"GET /api/jobs?of=running HTTP/1.1\r\nhost: localhost\r\n\r\n")
                head = await asks.readuntil(b"\r\n\r\n")
                seen[1] += len(await asks.readexactly(int(re.search(rb"content-length: (\d+)", head)[1])))
    finally:
        out.close()
        asked.close()


def spent(pid: int) -> float:
    """Return CPU seconds of a process and its waited-for children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(each) for each in fields[11:15]) / TICK


if __name__ == "__main__":
    raise SystemExit(main())
