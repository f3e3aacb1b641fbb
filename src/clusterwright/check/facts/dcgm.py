"""Results of DCGM's quick diagnostic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document

_ABSENT = "@ no dcgmi"
_COMMAND = f"command -v dcgmi >/dev/null || {{ echo '{_ABSENT}'; exit 0; }}; dcgmi diag -r 1 -j 2>&1; true"
_CONFIG = 5  # dcgm_errors.h, DCGM_ERROR_CONFIG: a setting such as persistence mode off, not a broken GPU


@dataclass(frozen=True, slots=True)
class DcgmResult:
    """One test on some GPUs (indices as DCGM writes them): status in lower case, and its warnings."""

    test: str
    gpus: str
    status: str
    warnings: str


@dataclass(frozen=True, slots=True)
class Dcgm:
    """All test results; `absent` without dcgmi; `refused` is its error where it could not start."""

    results: tuple[DcgmResult, ...]
    absent: bool = False
    refused: str = ""


@fact(
    "sh", "-c", _COMMAND, limit_s=90, permission="root"
)  # the exit code depends on the faults; only the output counts
def dcgm(out: str) -> Dcgm:
    """Test results of `dcgmi diag -r 1 -j` (DCGM 2 to 4): software, permissions, blocked modules, readable fields.

    Or that dcgmi is not installed, or the error with which it did not start.
    """
    if out.strip() == _ABSENT:
        return Dcgm((), absent=True)
    start = out.find("{")
    if start < 0:
        if not out.startswith("Error"):
            raise ValueError(out[:80])
        return Dcgm((), refused=out.strip().splitlines()[-1])
    document = parse_document(out[start:])
    report = document.get("DCGM Diagnostic") or document["DCGM GPU Diagnostic"]  # from DCGM 4 on, and before
    if report.get("runtime_error"):
        return Dcgm((), refused=str(report["runtime_error"]))
    tests = [test for category in report["test_categories"] for test in category["tests"] if test]
    return Dcgm(tuple(result for test in tests for result in _results(test)))


def _results(test: dict[str, Any]) -> Iterator[DcgmResult]:
    for row in test["results"]:
        warnings = [_warning(warning) for warning in _listed(row.get("warnings", []))]
        status = str(row["status"]).lower()
        if status == "fail" and warnings and all(severity == _CONFIG for _text, severity in warnings):
            status = "warn"
        gpus = str(row.get("gpu_ids", row.get("gpu_id", row.get("entity_id", ""))))
        yield DcgmResult(str(test["name"]), gpus, status, "; ".join(text for text, _severity in warnings))


def _listed(warnings: Any) -> list[Any]:
    return warnings if isinstance(warnings, list) else [warnings]


def _warning(warning: Any) -> tuple[str, int | None]:
    return (
        (str(warning["warning"]), warning.get("error_severity"))
        if isinstance(warning, dict)
        else (str(warning), None)
    )
