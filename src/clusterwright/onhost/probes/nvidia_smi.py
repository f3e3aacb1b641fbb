"""Queries nvidia-smi once for all fields of the checks, and prints its rows for each GPU as one JSON object.

Arguments: the expected number of GPUs, and the fields as JSON: a list of lists of names, of which the first one that
the driver supports is used. nvidia-smi rejects a whole query for one unknown field, and prints its name: that name is
replaced by the next one or left out, and the query is repeated, so an older driver lacks only that field. If a lost
GPU fails the query for all, each GPU is queried alone.
"""

import json
import re
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from clusterwright.onhost.lib import processes

REFUSED = re.compile(r'Field "([^"]+)" is not a valid field')
GPU_LOST = re.compile(
    r"Unable to determine the device handle|GPU is lost|No devices were found", re.IGNORECASE
)
USAGE = 2  # nvidia-smi(1), RETURN VALUE: an argument is invalid
LIMIT_S = 25.0  # for all calls together; the driver takes about 3 s per GPU to start
ROWS = "remapped_rows."  # drivers before 570 have a separate query for these

END = time.monotonic() + LIMIT_S


class StoppedError(Exception):
    """nvidia-smi is missing, or did not end in time."""


def run(arguments: List[str]) -> Tuple[int, str]:
    """Run nvidia-smi with these arguments, and return its exit code and output.

    Raises:
        StoppedError: it is missing or does not end in time.
    """
    argv = ["nvidia-smi", "--format=csv,noheader,nounits"] + arguments
    result = processes.run(argv, max(1.0, END - time.monotonic()), merge=True)
    if result.stopped:
        raise StoppedError(result)
    return result.code, result.out


def query(switch: str, fields: List[List[str]], chosen: Optional[int] = None) -> Dict[str, Any]:
    """Run one query of nvidia-smi, again without each field that is not supported.

    Return its exit code, rows, messages and those fields. A row has each value by the first name of its field. `chosen`
    is the index of the only GPU to query.
    """
    candidates = [list(names) for names in fields]
    while True:
        query_fields = [names for names in candidates if names]
        if not query_fields:
            return {"code": 0, "rows": [], "said": []}
        arguments = ["%s=%s" % (switch, ",".join(names[0] for names in query_fields))]
        code, out = run(arguments + ([] if chosen is None else ["-i", str(chosen)]))
        refused = REFUSED.search(out)
        if not refused or not any(names[0] == refused.group(1) for names in query_fields):
            break
        for names in query_fields:
            if names[0] == refused.group(1):
                names.pop(0)
    titles = [fields[index][0] for index, names in enumerate(candidates) if names]
    rows, messages = [], []
    for line in out.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == len(titles) and code != USAGE:
            rows.append({titles[index]: cell for index, cell in enumerate(cells)})
        elif line.strip():
            messages.append(line.strip())
    return {
        "code": code,
        "rows": rows,
        "said": messages,
        "refused": sorted({f[0] for f in fields} - set(titles)),
    }


def query_gpus(fields: List[List[str]], count: int) -> Dict[str, Any]:
    """Query each GPU alone; return the rows of those that respond, and the messages about others."""
    reports = [query("--query-gpu", fields, index) for index in range(count)]
    rows = [row for report in reports for row in report["rows"]]
    messages = [line for report in reports for line in report["said"]]
    return dict(
        reports[0], rows=rows, said=sorted(set(messages)), code=max(report["code"] for report in reports)
    )


def with_rows(report: Dict[str, Any], fields: List[List[str]]) -> None:
    """Add the remapped memory rows of each GPU to the report by a query of their own, if the driver needs one."""
    missing = [names for names in fields if names[0] in report["refused"] and names[0].startswith(ROWS)]
    if not missing or not report["rows"]:
        return
    more = query("--query-remapped-rows", [["gpu_uuid"]] + missing)
    by_uuid = {row.pop("gpu_uuid", ""): row for row in more["rows"]}
    for row in report["rows"]:
        row.update(by_uuid.get(row.get("uuid", ""), {}))


def main() -> None:
    """Query these fields (argument 2) of all GPUs by nvidia-smi, and print rows, messages and exit code as JSON.

    Argument 1 is the expected number of GPUs, which are queried one by one if a lost one stops nvidia-smi.
    """
    count, fields = int(sys.argv[1]), json.loads(sys.argv[2])
    try:
        report = query("--query-gpu", fields)
        if GPU_LOST.search(" ".join(report["said"])) and not report["rows"] and count:
            report = query_gpus(fields, count)
        with_rows(report, fields)
    except StoppedError as error:
        (result,) = error.args
        report = {"code": result.code, "rows": [], "said": [result.stopped]}
        if result.code == processes.NOT_STARTED:
            report["absent"] = True
        elif result.code == processes.TIMED_OUT:
            report["said"] = ["nvidia-smi gave no answer in %g s: the driver hangs" % LIMIT_S]
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
