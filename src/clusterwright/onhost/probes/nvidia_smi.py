"""Asks nvidia-smi once for every field that a checker wants, and prints what it said of each GPU as one JSON object.

Arguments: how many GPUs there should be, and the fields as JSON: a list of lists of names, of which the first that
this driver knows is asked. nvidia-smi refuses a whole query for one field that it does not know, and names it: that
name is left out (or the next one tried), and the query is asked again, so an older driver is blind to one thing
only. Where a GPU that is lost stops the query for all, each GPU is asked for by itself.
"""

import json
import re
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from clusterwright.onhost.lib import processes

REFUSED = re.compile(r'Field "([^"]+)" is not a valid field')
LOST = re.compile(r"Unable to determine the device handle|GPU is lost|No devices were found", re.IGNORECASE)
USAGE = 2  # nvidia-smi(1), RETURN VALUE: an argument is invalid
LIMIT_S = 25.0  # for all calls together; a GPU whose driver starts cold takes about 3 s
ROWS = "remapped_rows."  # before driver 570 these have a query of their own

END = time.monotonic() + LIMIT_S


class StoppedError(Exception):
    """It is not there, or gives no answer in time."""


def run(arguments: List[str]) -> Tuple[int, str]:
    """Exit code and all that nvidia-smi printed."""
    argv = ["nvidia-smi", "--format=csv,noheader,nounits"] + arguments
    done = processes.run(argv, max(1.0, END - time.monotonic()), merge=True)
    if done.stopped:
        raise StoppedError(done)
    return done.code, done.out


def query(switch: str, fields: List[List[str]], chosen: Optional[int] = None) -> Dict[str, Any]:
    """The rows of one query, by the first name of each field, without what this driver does not know."""
    left = [list(names) for names in fields]
    while True:
        asked = [names for names in left if names]
        if not asked:
            return {"code": 0, "rows": [], "said": []}
        words = ["%s=%s" % (switch, ",".join(names[0] for names in asked))]
        code, out = run(words + ([] if chosen is None else ["-i", str(chosen)]))
        refused = REFUSED.search(out)
        if not refused or not any(names[0] == refused.group(1) for names in asked):
            break
        for names in asked:
            if names[0] == refused.group(1):
                names.pop(0)
    titles = [fields[place][0] for place, names in enumerate(left) if names]
    rows, said = [], []
    for line in out.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == len(titles) and code != USAGE:
            rows.append({titles[place]: cell for place, cell in enumerate(cells)})
        elif line.strip():
            said.append(line.strip())
    return {"code": code, "rows": rows, "said": said, "refused": sorted({f[0] for f in fields} - set(titles))}


def one_by_one(fields: List[List[str]], count: int) -> Dict[str, Any]:
    """Each GPU asked for by itself: those that answer, and what is said of the others."""
    each = [query("--query-gpu", fields, index) for index in range(count)]
    rows = [row for found in each for row in found["rows"]]
    said = [line for found in each for line in found["said"]]
    return dict(each[0], rows=rows, said=sorted(set(said)), code=max(found["code"] for found in each))


def with_rows(found: Dict[str, Any], fields: List[List[str]]) -> None:
    """Remapped rows from their own query, where the driver does not tell them with the others."""
    missing = [names for names in fields if names[0] in found["refused"] and names[0].startswith(ROWS)]
    if not missing or not found["rows"]:
        return
    more = query("--query-remapped-rows", [["gpu_uuid"]] + missing)
    by_uuid = {row.pop("gpu_uuid", ""): row for row in more["rows"]}
    for row in found["rows"]:
        row.update(by_uuid.get(row.get("uuid", ""), {}))


def main() -> None:
    """Ask, ask again where it helps, print."""
    count, fields = int(sys.argv[1]), json.loads(sys.argv[2])
    try:
        found = query("--query-gpu", fields)
        if LOST.search(" ".join(found["said"])) and not found["rows"] and count:
            found = one_by_one(fields, count)
        with_rows(found, fields)
    except StoppedError as why:
        (done,) = why.args
        found = {"code": done.code, "rows": [], "said": [done.stopped]}
        if done.code == processes.NOT_STARTED:
            found["absent"] = True
        elif done.code == processes.TIMED_OUT:
            found["said"] = ["nvidia-smi gave no answer in %g s: the driver hangs" % LIMIT_S]
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
