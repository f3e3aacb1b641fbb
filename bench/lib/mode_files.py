"""Validation of failure mode files: each finding names file, key and fix."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clusterwright.diagnose.mode import CLASSES, COUNTS, KINDS, RETRIES, ROLES
from clusterwright.diagnose.reference import NAMES

SHORTEST = 6  # characters: shorter texts occur in too many lines
SHORTEST_LIKE = 5  # with a non-letter in it, and a regular expression
COMMON = 2  # healthy lines that may contain a text; one in more lines makes parsing slow
IMPLICIT_NAMES = {"host", "rank", "source"}  # names that are known from the line's file without capture

_TEXTS = ("cause", "fix")
_NEEDED = {*_TEXTS, "role", "retry", "certain", "programs", "sources", "signature"}
_KEYS = _NEEDED | {"exclude", "confirmed_by", "ruled_out_by", "maybe", "follows", "counted"}
_SIGNATURE = {"has", "like", "in", "near", "role"}
_WITNESS = {"has", "like", "mode"}
_HAN = re.compile("[\u4e00-\u9fff]")

Table = Mapping[str, Any]

# Lines of healthy runs; only benign modes may match them.
HEALTHY = (
    "step 120 loss 2.3417 lr 0.0003 grad norm 0.91 tokens/s 181234 mfu 0.41",
    "[rank0]: epoch 3 finished, checkpoint saved to /data/run/ckpt/step_1000",
    "INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous complete for workers. Result:",
    "[default0]: restart_count=0 master_addr=node1 master_port=29500 group_rank=0 group_world_size=2",
    "torch.distributed.elastic.multiprocessing: Starting elastic_operator with launch configs: max_restarts: 0",
    "node1:1234:1234 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>",
    "node1:1234:1290 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
    "node1:1234:1290 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0",
    "node1:1234:1290 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
    "node1:1234:1290 [0] NCCL INFO comm 0x1 rank 0 nranks 8 cudaDev 0 busId 1b000 - Init COMPLETE",
    "node1:1234:1290 [0] NCCL INFO cudaDriverVersion 12040",
    "node1:1234:1290 [0] NCCL INFO Connected all rings",
    "node1:1234:1290 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
    "[2026-01-01T00:00:00.000] slurmctld version 23.11.4 started on cluster train",
    "[2026-01-01T00:00:00.000] _job_complete: JobId=12 WEXITSTATUS 0",
    "[2026-01-01T00:00:00.000] launch task StepId=12.0 request from UID:1000 GID:1000 HOST:10.0.0.1 PORT:40000",
    "[2026-01-01T00:00:00.000] [12.0] done with job",
    "sched: Allocate JobId=12 NodeList=node[1-2] #CPUs=16 Partition=train",
    "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  550.90.07",
    "systemd[1]: Started Slurm node daemon.",
    "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Opts: errors=remount-ro. Quota mode: none.",
    "nvme nvme0: 32/0/0 default/read/poll queues",
    "mlx5_core 0000:1b:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:1b:00.0 eth0: Link up",
    "sshd[812]: Accepted publickey for alice from 10.0.0.9 port 52114 ssh2: ED25519 SHA256:abc",
    "chronyd[700]: Selected source 10.0.0.2",
    "munged[650]: munge-0.5.15 daemon started",
    "Setting up python3 (3.11.2-1) ... Processing triggers for libc-bin (2.36-9) ...",
    "Successfully installed torch-2.5.1 numpy-1.26.4 error-handler-0.1",
    "Get:1 http://mirror.example/debian bookworm/main amd64 Packages [8,786 kB]",
    "Downloading shards: 100%|##########| 4/4 [00:12<00:00,  3.01s/it]",
    "It/s 3.41, GPU memory 61.2 GiB of 79.1 GiB, allocated 55.0 GiB, timeout=1800",
    "Loaded checkpoint from /data/run/ckpt/step_1000, resuming at step 1001, worker 3, 0 errors, 0 failed",
)


def problems(name: str, table: Table) -> list[str]:
    """Return the problems of one file, each as `CLASS/NAME: key: problem and fix`."""
    return [f"{name}: {problem}" for problem in (*_of_name(name), *_of_keys(table), *_of_values(table))] or [
        f"{name}: {problem}" for problem in (*_of_signatures(table), *_of_witnesses(table), *_of_texts(table))
    ]


def shared(tables: Mapping[str, Table]) -> list[str]:
    """Return indistinguishable modes with the same signature, and references to unknown modes."""
    takers = defaultdict(list)
    for name, table in tables.items():
        for entry in table.get("signature", ()):
            takers[entry.get("has"), entry.get("like"), entry.get("in"), tuple(entry.get("near", ()))].append(
                name
            )
    errors = [
        f"{', '.join(names)}: the same signature {key[0]!r}; give all but one `near`, `confirmed_by` or `ruled_out_by`"
        for key, names in takers.items()
        if len(names) > 1 and sum(not _is_distinguishable(tables[name]) for name in names) > 1
    ]
    for name, table in tables.items():
        for entry in (*table.get("confirmed_by", ()), *table.get("ruled_out_by", ())):
            if (mode := entry.get("mode")) and mode not in tables:
                errors.append(f"{name}: mode = {mode!r}: no such mode")
        errors += [
            f"{name}: maybe = {mode!r}: no such mode" for mode in table.get("maybe", ()) if mode not in tables
        ]
        errors += [
            f"{name}: follows = {cause!r}: neither a mode, nor a class, nor `*`"
            for cause in table.get("follows", ())
            if cause not in {*tables, *CLASSES, "*"}
        ]
        errors += [
            f"{name}: follows = {cause!r}, which follows it, too; remove one of the two"
            for cause in table.get("follows", ())
            if name in tables.get(cause, {}).get("follows", ())
        ]
    return errors


def _is_distinguishable(table: Table) -> bool:
    return bool(table.get("confirmed_by") or table.get("ruled_out_by"))


def _of_name(name: str) -> Iterator[str]:
    folder, _, stem = name.partition("/")
    if folder not in CLASSES:
        yield f"folder {folder!r} is no class; one of {', '.join(CLASSES)}"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", stem):
        yield "the file's name is words of a-z and 0-9 with hyphens between"


def _of_keys(table: Table) -> Iterator[str]:
    for key in sorted(set(table) - _KEYS):
        yield f"{key}: unknown key; there are {', '.join(sorted(_KEYS))}"
    for key in sorted(_NEEDED - set(table)):
        yield f"{key}: is missing"
    for part, allowed_keys in (
        ("signature", _SIGNATURE),
        ("confirmed_by", _WITNESS),
        ("ruled_out_by", _WITNESS),
    ):
        for number, entry in enumerate(table.get(part, ()), 1):
            for key in sorted(set(entry) - allowed_keys):
                yield f"{part} {number}: {key}: unknown key; there are {', '.join(sorted(allowed_keys))}"


def _of_values(table: Table) -> Iterator[str]:
    for key, allowed_values in (
        ("role", ROLES),
        ("retry", RETRIES),
        ("exclude", ("", "host")),
        ("counted", COUNTS),
    ):
        if key in table and table[key] not in allowed_values:
            yield f"{key}: {table[key]!r} is none of {', '.join(map(repr, allowed_values))}"
    certain = table.get("certain", 0.5)
    if not isinstance(certain, int | float) or not 0 < certain <= 1:
        yield f"certain: {certain!r} is no share above 0 and up to 1"
    for key in ("programs", "sources", "maybe", "follows"):
        texts = table.get(key, [""])
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            yield f"{key}: a list with at least one text"
    if "counted" in table and not table.get("maybe"):
        yield "counted: `maybe` says which mode it is otherwise"
    if not table.get("signature", [""]):
        yield "signature: at least one"


def _of_signatures(table: Table) -> Iterator[str]:
    for number, signature in enumerate(table["signature"], 1):
        location = f"signature {number}"
        yield from (f"{location}: {problem}" for problem in _of_text(signature))
        if signature.get("in") not in (None, *KINDS):
            yield f"{location}: in = {signature['in']!r} is none of {', '.join(KINDS)}"
        if signature.get("role") not in (None, *ROLES):
            yield f"{location}: role = {signature['role']!r} is none of {', '.join(ROLES)}"
        context = signature.get("near", [])
        if isinstance(context, str) or any(len(text) < SHORTEST for text in context):
            yield f"{location}: near: a list of texts of {SHORTEST} characters or more"
        if (
            "benign" not in (table["role"], signature.get("role"))
            and (line := _healthy(signature))
            and not context
        ):
            yield f"{location}: it matches a healthy line, `{line}`; make `has` longer or add `like`"
        if "has" in signature and sum(signature["has"] in line for line in HEALTHY) >= COMMON:
            yield (
                f"{location}: has = {signature['has']!r} is in many healthy "
                "lines; each would be tried; make it longer"
            )


def _of_text(entry: Table) -> Iterator[str]:
    has, like = entry.get("has", ""), entry.get("like", "")
    if len(has) < (SHORTEST if not like or has.isalnum() else SHORTEST_LIKE):
        yield f"has = {has!r}: {SHORTEST} characters or more; shorter ones are in too many lines"
    if "\n" in has or "\r" in has:
        yield "has: is looked for in one line; it holds a line break"
    if has != has.strip():
        yield f"has = {has!r}: begins or ends with a space, which readers of logs drop"
    try:
        expression = re.compile(like)
    except re.error as error:
        yield f"like: no regular expression: {error}"
        return
    if like and expression.match(""):
        yield f"like = {like!r}: takes an empty line, so it tells nothing"


def _healthy(signature: Table) -> str:
    has, like = signature.get("has", ""), signature.get("like", "")
    if signature.get("in") in {"sacct", "scontrol", "verdict", "metric", "flight", "live", "output"}:
        return ""
    try:
        return next((line for line in HEALTHY if has in line and re.search(like, line)), "")
    except re.error:
        return ""


def _of_witnesses(table: Table) -> Iterator[str]:
    for part in ("confirmed_by", "ruled_out_by"):
        for number, witness in enumerate(table.get(part, ()), 1):
            if bool(witness.get("has")) == bool(witness.get("mode")):
                yield f"{part} {number}: either `has` or `mode`"
            elif witness.get("has"):
                yield from (f"{part} {number}: {problem}" for problem in _of_text(witness))


def _of_texts(table: Table) -> Iterator[str]:
    captured = set(IMPLICIT_NAMES)
    for signature in table["signature"]:
        captured |= set(_groups(signature.get("like", "")))
    for key in _TEXTS:
        text = table[key]
        if not isinstance(text, str) or not text.strip():
            yield f"{key}: a text"
            continue
        if _HAN.search(text):
            yield f"{key}: is not English; its Chinese belongs into the message catalog"
        for name in sorted(set(NAMES.findall(text)) - captured):
            yield f"{key}: {{{name}}} is captured by no `like` (`(?P<{name}>...)`)"
        if not text.rstrip().endswith((".", "`")):
            yield f"{key}: is a sentence and ends with a stop"


def _groups(like: str) -> Iterable[str]:
    try:
        return re.compile(like).groupindex
    except re.error:
        return ()
