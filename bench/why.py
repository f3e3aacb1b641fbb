"""Accuracy and speed of `wright why`.

python -m bench.why [right|fit|speed] [--wrong] [FOLDER...]

right: diagnoses every YAML file of a failure (`log`, `class`; default folder: tests/diagnose/unseen) and prints the
       share whose class comes first, and within the first two; by class; and by stated confidence. Blind: without
       failures whose threads an author of failure modes has read.
fit:   prints the table of diagnose/judge/weigh.py from all folders together, and the error of stated confidence
       in five-fold cross-validation.
speed: 1 GB of mixed lines, most of a healthy run and some of failures, on one core: CPU seconds and peak memory; and a
       log of 4 KB with start-up.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from bench.lib.mode_files import HEALTHY, problems
from clusterwright.diagnose.diagnosis import Diagnosis
from clusterwright.diagnose.judge import judge, weigh
from clusterwright.diagnose.knowledge import Knowledge, knowledge
from clusterwright.diagnose.mode import tables
from clusterwright.diagnose.reading import of_text, read

ROOT = Path(__file__).parents[1]
UNSEEN = ROOT / "tests" / "diagnose" / "unseen"
MET = (
    ROOT / "tests" / "diagnose" / "unseen2" / "met.txt"
)  # names of logs whose threads an author of modes has read
BINS = (0.2, 0.4, 0.6, 0.8, 1.01)
HARMLESS = "benign"  # the class of a text after which nothing failed
FOLDS = 5
GROUP = 25  # failures for one point of the table


def main() -> int:
    """Run the selected measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("right", "fit", "speed"), nargs="?", default="right")
    parser.add_argument("folder", type=Path, nargs="*", default=[UNSEEN])
    parser.add_argument("--wrong", action="store_true", help="list wrong classes by file")
    parser.add_argument("--gigabytes", type=float, default=1.0)
    asked = parser.parse_intermixed_args()
    if asked.what == "speed":
        return speed(asked.gigabytes)
    if asked.what == "fit":
        return fit(asked.folder)
    for folder in asked.folder:
        right(folder, wrong=asked.wrong)
    return 0


def failures(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and content of each recorded failure."""
    reader = YAML(typ="safe")
    for path in sorted(folder.glob("*.yaml")):
        yield path.stem, reader.load(path)


def valid_modes() -> Knowledge:
    """Return the valid failure modes; print the names of invalid files."""
    known = tables()
    for name, table in list(known.items()):
        if wrong := problems(name, table):
            print(f"left out: {wrong[0]}")
            del known[name]
    return Knowledge(known)


def diagnosed(log: str, known: Knowledge) -> list[Diagnosis]:
    """Return the diagnoses that `wright why` gives for a log."""
    return judge(read([of_text("log", log)], known))


def classes(diagnoses: list[Diagnosis]) -> list[str]:
    """Return the distinct classes of diagnoses in order, without benign ones."""
    return list(dict.fromkeys(each.kind for each in diagnoses if each.role != "benign"))


def right(folder: Path, *, wrong: bool) -> None:
    """Print the accuracy on a folder of failures, and with `wrong` each wrong diagnosis."""
    known = valid_modes()
    judged = [(name, each["class"], diagnosed(each["log"], known)) for name, each in failures(folder)]
    rows = [row for row in judged if row[1] != HARMLESS]
    harmless = [said for _, kind, said in judged if kind == HARMLESS]
    firsts = Counter(kind for _, kind, said in rows if classes(said)[:1] == [kind])
    seconds = sum(kind in classes(said)[:2] for _, kind, said in rows)
    unknowns = sum(not said or said[0].kind == "unknown" for _, _, said in rows)
    count = len(rows)
    print(f"{folder}: {count} failures, {len(list(known))} modes")
    if not count:
        return
    shares = [f"{each / count:.1%}" for each in (sum(firsts.values()), seconds, unknowns)]
    print("right first {}, within two {}, unknown {}".format(*shares))
    blind_shares(rows)
    blamed = sum(any(each.role == "root" for each in said) for said in harmless)
    print(f"harmless texts diagnosed as failures: {blamed} of {len(harmless)}")
    for kind, total in sorted(Counter(kind for _, kind, _ in rows).items()):
        print(f"  {kind:22} {firsts[kind]:3} of {total}")
    stated([(said[0].confidence, said[0].kind == kind) for _, kind, said in rows if said])
    if wrong:
        for name, kind, said in rows:
            if classes(said)[:1] != [kind]:
                print(
                    f"  {name:36} {kind:20} <- {', '.join(f'{each.mode} {each.confidence}' for each in said[:3])}"
                )


def blind_shares(rows: list[tuple[str, str, list[Diagnosis]]]) -> None:
    """Print the accuracy without failures whose threads were read, if there are any."""
    met = set(MET.read_text().split())
    blind = [(kind, classes(said)) for name, kind, said in rows if name not in met]
    if len(blind) < len(rows):
        first = sum(said[:1] == [kind] for kind, said in blind) / len(blind)
        second = sum(kind in said[:2] for kind, said in blind) / len(blind)
        print(f"blind: {len(blind)} failures, right first {first:.1%}, within two {second:.1%}")


def fit(folders: list[Path]) -> int:
    """Print the calibration table and its cross-validation error."""
    known, weigh.CALIBRATION = valid_modes(), ((0.0, 0.0), (1.0, 1.0))
    pairs = []
    for folder in folders:
        for _, each in failures(folder):
            said = diagnosed(each["log"], known)
            if said and said[0].role == "root" and each["class"] != HARMLESS:
                pairs.append((said[0].confidence, said[0].kind == each["class"]))
    random.Random(1).shuffle(pairs)
    print(f"{len(pairs)} failures; uncalibrated:")
    stated(pairs)
    tried = []
    for fold in range(FOLDS):
        weigh.CALIBRATION = table([pair for number, pair in enumerate(pairs) if number % FOLDS != fold])
        tried += [(weigh.expected(sure), good) for sure, good in pairs[fold::FOLDS]]
    print(f"calibrated on the other {FOLDS - 1} of {FOLDS} folds:")
    stated(tried)
    print("SEEN =", table(pairs))
    return 0


def table(pairs: list[tuple[float, bool]]) -> tuple[tuple[float, float], ...]:
    """Return calibrated shares of groups of equal size, monotonic."""
    ordered = sorted(pairs)
    groups = [[pair] for pair in ordered[: len(ordered) // GROUP * GROUP : GROUP]]
    for number, group in enumerate(groups):
        group[:] = ordered[number * GROUP : (number + 1) * GROUP if number + 1 < len(groups) else None]
    merged: list[list[tuple[float, bool]]] = []
    for group in groups:
        merged.append(group)
        while len(merged) > 1 and share(merged[-2]) >= share(merged[-1]):
            merged[-2:] = [merged[-2] + merged[-1]]
    points = [(round(sum(sure for sure, _ in each) / len(each), 2), round(share(each), 2)) for each in merged]
    return ((0.0, 0.0), *points, (1.0, max(points[-1][1], 0.97)))


def share(pairs: list[tuple[float, bool]]) -> float:
    """Return the share that is right, with one right and one wrong added (Laplace smoothing)."""
    return (sum(good for _, good in pairs) + 1) / (len(pairs) + 2)


def stated(pairs: list[tuple[float, bool]]) -> None:
    """Print the share that is right by stated confidence, and the mean difference."""
    bins: dict[float, list[tuple[float, bool]]] = defaultdict(list)
    for pair in pairs:
        bins[next(top for top in BINS if pair[0] < top)].append(pair)
    print("stated confidence, right, of")
    for top in BINS:
        if inside := bins[top]:
            mean = sum(sure for sure, _ in inside) / len(inside)
            print(f"  {mean:.2f}  {sum(good for _, good in inside) / len(inside):.2f}  {len(inside)}")
    error = sum((sure - good) ** 2 for sure, good in pairs) / len(pairs)
    print(f"Brier score {error:.3f}")


def speed(gigabytes: float) -> int:
    """Print seconds and memory for a large log, and seconds for a small one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.log"
        lines = write_mixed(path, int(gigabytes * 1e9))
        wall, cpu, mib = run(path)
        size = f"{path.stat().st_size / 1e9:.2f} GB, {lines} lines"
        print(f"{size}: {cpu:.1f} s of CPU time, {wall:.1f} s, {mib:.0f} MiB")
        small = Path(folder) / "small.log"
        small.write_bytes(path.read_bytes()[:4096])
        times = sorted(run(small)[1] for _ in range(5))
        print(f"4 KB: {times[0]:.2f} s to {times[-1]:.2f} s of CPU time, with start-up")
    return 0


def write_mixed(path: Path, size: int) -> int:
    """Write healthy lines of many ranks, with a failure's lines about every thousandth line; return the bytes."""
    chance = random.Random(1)  # the same log each time
    texts = list(knowledge().signatures)
    written = lines = 0
    with path.open("wb") as file:
        while written < size:
            rows = [f"[rank{chance.randrange(64)}]: {chance.choice(HEALTHY)}" for _ in range(20_000)]
            rows += [
                f"[rank{chance.randrange(64)}]: {chance.choice(texts)} at 0x{chance.getrandbits(32):x}"
                for _ in range(20)
            ]
            chance.shuffle(rows)
            data = ("\n".join(rows) + "\n").encode() * 5
            file.write(data)
            written, lines = written + len(data), lines + 5 * len(rows)
    return lines


def run(path: Path) -> tuple[float, float, float]:
    """Return wall seconds, CPU seconds and MiB of `wright why --json PATH`."""
    command = [sys.executable, "-c", "from clusterwright.cli import main; main()", "why", "--json", str(path)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    if process.wait() > 1:
        raise SystemExit(f"{command} failed")
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, after.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
