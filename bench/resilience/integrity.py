"""Experiment 7: damaged checkpoints. What is loaded afterwards, and how many steps are lost?

    python -m bench.resilience.integrity [--out FILE] [--seeds 500] [--quick] [--systems 'ours|dcp.save'] [--each FILE]

Each trial damages a folder with three steps of 2 MB (two retained; one if the file is overwritten) and loads it in a
new process. `kill`: the process that saves a fourth step is killed at a random moment, `--seeds` times, a fifth of
that for other systems. The newest step is damaged by a `bit flip` (100), `truncated` (50), `deleted` (each file), a
`stale latest`, and a `full disk` (root: a tmpfs too small for the next step).
A line has the counts of a system and a case; `--each` writes a line for each trial.
`silent`: values were loaded that were never saved.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint.api import CheckpointException

from bench.resilience.integrity_systems import SYSTEMS, State, System, blank, made
from bench.resilience.lines import Lines, load, options, say

FIRST, NEW = (1, 2, 3), 4
FLIPS, CUTS = 100, 50
RIVALS = 5  # they are killed at every fifth moment
MIB = 1 << 20
Trial = dict[str, Any]


def main() -> None:
    """Run all systems and cases."""
    given = _options()
    torch.set_num_threads(1)  # a thread pool does not survive a fork
    states = {step: made(step) for step in (*FIRST, NEW)}
    lines = Lines("integrity", given.out)
    each = given.each.open("a") if given.each else None
    scratch = Path(tempfile.mkdtemp(prefix="bench-integrity-"))
    wanted = given.systems.split("|") if given.systems else [system.name for system in SYSTEMS]
    try:
        benches = [Bench(system, states, scratch) for system in SYSTEMS if system.name in wanted]
        for case, trials in CASES.items():
            counts = {bench.system.name: (load(), []) for bench in benches}
            for number in range(trials(given)):  # alternating, so that a busy moment disturbs all systems
                for bench in benches:
                    if case == "kill" and number % RIVALS and bench.system.name != "ours":
                        continue
                    found = bench.trial(case, number)
                    counts[bench.system.name][1].extend(found)
                    if each:
                        each.writelines(
                            json.dumps({"system": bench.system.name, **one}) + "\n" for one in found
                        )
            for name, (busy, found) in counts.items():
                _write_lines(lines, name, case, busy, found)
    finally:
        shutil.rmtree(scratch)


def _options() -> argparse.Namespace:
    more = argparse.ArgumentParser(add_help=False)
    more.add_argument("--each", type=Path, help="append a line for each trial to this file")
    return options(__doc__ or "", seeds=500, quick=25, more=more)


CASES: dict[str, Callable[[argparse.Namespace], int]] = {
    "kill": lambda given: given.seeds,
    "bit flip": lambda given: 10 if given.quick else FLIPS,
    "truncated": lambda given: 5 if given.quick else CUTS,
    "deleted": lambda _: 1,
    "stale latest": lambda _: 1,
    "full disk": lambda _: 1,
}


class Bench:
    """A system and its folder of three steps, which each trial copies."""

    def __init__(self, system: System, states: dict[int, State], scratch: Path) -> None:
        self.system, self._states = system, states
        self._base = scratch / system.name.replace(" ", "-")
        self._base.mkdir()
        saves = [lambda step=step: system.save(self._base, step, states[step]) for step in FIRST]
        self._seconds = max(_timed(lambda save=save: self._in_child(save)) for save in saves)
        if self._loaded(self._base)["best"] != ["ok", FIRST[-1]]:
            raise SystemExit(f"{system.name} does not load its own undamaged checkpoint")

    def trial(self, case: str, number: int) -> list[Trial]:
        """Return the outcome for both strategies: load the newest checkpoint only, or fall back to older ones."""
        dice = random.Random(f"{case} {number}")
        found = []
        for folder, newest in self._damaged_folders(case, dice):
            busy = load()
            for flags, (outcome, step) in self._loaded(folder).items():
                lost = newest - step if step else newest
                found.append(
                    {
                        "case": case,
                        "seed": number,
                        "flags": flags,
                        "outcome": outcome,
                        "lost": lost,
                        "load": busy,
                    }
                )
        return found

    def _damaged_folders(self, case: str, dice: random.Random) -> Iterator[tuple[Path, int]]:
        """Yield each damaged folder, with the newest step whose save had begun."""
        with tempfile.TemporaryDirectory(dir=self._base.parent) as name:
            folder = Path(name) / "run"
            shutil.copytree(self._base, folder, symlinks=True)
            if case == "kill":
                self._kill(folder, dice)
                yield folder, NEW
            elif case == "full disk":
                yield from self._fill(folder)
            elif case == "stale latest":
                yield from _stale(folder)
            elif case == "deleted":
                for path in _newest_files(folder):
                    again = Path(name) / f"without-{path.name}"
                    shutil.copytree(self._base, again, symlinks=True)
                    (again / path.relative_to(folder)).unlink()
                    yield again, FIRST[-1]
            else:
                _damage(folder, dice, flip=case == "bit flip")
                yield folder, FIRST[-1]

    def _kill(self, folder: Path, dice: random.Random) -> None:
        """Send SIGKILL at a random moment of the save or shortly after it."""
        ready, tell = os.pipe()
        pid = os.fork()
        if not pid:
            os.write(tell, b"x")
            self._exit_after(lambda: self.system.save(folder, NEW, self._states[NEW]))
        os.read(ready, 1)
        time.sleep(dice.uniform(0, 1.1 * self._seconds))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)
        os.close(tell)

    def _fill(self, folder: Path) -> Iterator[tuple[Path, int]]:
        """Save the next step with space for half of it, then free the space, as before a restart."""
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        disk = folder.parent / "disk"
        disk.mkdir()
        options = f"size={(size + MIB) // 4096 * 4096}"
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], capture_output=True, check=False
        )
        if done.returncode:
            return
        try:
            shutil.copytree(folder, disk / "run", symlinks=True)
            self._in_child(lambda: self.system.save(disk / "run", NEW, self._states[NEW]))
            yield disk / "run", NEW
        finally:
            subprocess.run(["umount", disk], check=True)

    def _loaded(self, folder: Path) -> dict[str, tuple[str, int]]:
        """Return by strategy what a new process loads: a step as saved, something else, or nothing."""
        out, into = os.pipe()
        pid = os.fork()
        if not pid:
            self._exit_after(lambda: os.write(into, json.dumps(self._load(folder)).encode()))
        os.close(into)
        with os.fdopen(out) as file:
            said = file.read()
        os.waitpid(pid, 0)
        nothing = ("unloadable", 0)
        found = {"default": nothing, "best": nothing, **json.loads(said or "{}")}
        return found if self.system.walks else {"best": found["best"]}

    def _load(self, folder: Path) -> dict[str, tuple[str, int]]:
        """Load in this process; return the outcome by strategy: without fallback, only the first attempt counts."""
        found: dict[str, tuple[str, int]] = {}
        with contextlib.suppress(OSError):  # no pointer
            for attempt in self.system.loads(folder):
                try:
                    judged = self._judged(attempt())
                except (Exception, CheckpointException):  # noqa: BLE001 (any failure of a load; DCP's is a BaseException)
                    found.setdefault("default", ("unloadable", 0))
                    continue
                found.setdefault("default", judged)
                found["best"] = judged
                break
        return found

    def _judged(self, state: State | None) -> tuple[str, int]:
        if state is None:
            return "unloadable", 0
        try:
            wanted = self._states.get(state["step"], blank())
            same = all(torch.equal(tensor, state["model"][name]) for name, tensor in wanted["model"].items())
        except (KeyError, RuntimeError, TypeError):
            same = False
        return ("ok", state["step"]) if same else ("silent", 0)

    def _in_child(self, act: Callable[[], object]) -> None:
        pid = os.fork()
        if not pid:
            self._exit_after(act)
        os.waitpid(pid, 0)

    @staticmethod
    def _exit_after(act: Callable[[], object]) -> None:
        """Run a function and exit, in a child process, without output."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            act()
        finally:
            os._exit(0)


def _stale(folder: Path) -> Iterator[tuple[Path, int]]:
    """Point `latest` to a missing step; create it if there is none, which then must be ignored."""
    pointer = folder / "latest"
    pointer.unlink(missing_ok=True)
    pointer.write_text("step-1.pt")
    yield folder, FIRST[-1]


def _newest_files(folder: Path) -> list[Path]:
    """Return the files of the newest step, or the only file if there are no steps."""
    steps = [path for path in folder.iterdir() if path.name.startswith("step-")]
    if not steps:
        return [folder / "checkpoint.pt"]
    newest = max(steps, key=lambda path: int(path.stem.rpartition("-")[2]))
    return sorted(path for path in newest.rglob("*") if path.is_file()) if newest.is_dir() else [newest]


def _damage(folder: Path, dice: random.Random, *, flip: bool) -> None:
    """Flip a bit in the newest step's files or truncate one; large files are chosen more often."""
    files = _newest_files(folder)
    (path,) = dice.choices(files, [file.stat().st_size for file in files])
    at = dice.randrange(path.stat().st_size)
    if not flip:
        os.truncate(path, at)
        return
    with path.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 1 << dice.randrange(8)]))


def _timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def _write_lines(lines: Lines, name: str, case: str, busy: float, found: list[Trial]) -> None:
    """Write a line per strategy; `lost_steps` has median and maximum of the trials that could continue."""
    if not found:
        lines.write(
            name, case=case, outcome="skipped", reason="a disk can be filled by root alone", load=busy
        )
    for flags in sorted({one["flags"] for one in found}):
        mine = [one for one in found if one["flags"] == flags]
        count = {word: sum(one["outcome"] == word for one in mine) for word in ("ok", "unloadable", "silent")}
        lost = sorted(one["lost"] for one in mine if one["outcome"] == "ok")
        figures = {
            "trials": len(mine), "good": count["ok"], "unloadable": count["unloadable"], "silent": count["silent"],
            "fell_back": sum(step > 0 for step in lost), "most_lost_steps": lost[-1] if lost else None,
        }  # fmt: skip
        outcome = "silent" if count["silent"] else "lost" if count["unloadable"] else "ok"
        reason = f"{count['silent']} silently wrong, {count['unloadable']} unloadable, of {len(mine)}"
        more = {} if outcome == "ok" else {"reason": reason}
        lines.write(name, case=case, flags=flags, outcome=outcome, figures=figures, load=busy, **more)
        say(f"{name} ({flags}), {case}: {json.dumps(figures)}")


if __name__ == "__main__":
    sys.exit(main())
