"""Lines are found in logs of any form, and told from lines that only quote them."""

import bz2
import gzip
import json
import lzma
import os
import shutil
import struct
import subprocess
import sys

import pytest

from clusterwright.diagnose.knowledge import Knowledge
from clusterwright.diagnose.reading import find_sources, of_text, read
from clusterwright.diagnose.reading.read import OVERLAP, SIZE, SMALL, Scanner
from clusterwright.diagnose.reading.sighting_store import MOST
from clusterwright.diagnose.subjects import log as diagnose_log

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
SEEN = ("gpu-oom/out-of-memory", 2)


@pytest.mark.parametrize(
    "line",
    [
        OOM,
        f"[rank3]: {OOM}",
        f"[default3]:[rank3]: {OOM}",
        f"3: {OOM}",
        f"[3]: {OOM}",
        f"node1: {OOM}",
        f"[1,3]<stderr>:{OOM}",
        f"[node1:3] {OOM}",
        f"2026-01-02T03:04:05.678+08:00 {OOM}",
        f"Jan  2 03:04:05 node1 python[12]: {OOM}",
        f"\x1b[31m{OOM}\x1b[0m",
        "\x1b]8;;http://x\x1b\\\x1b[1;31mtorch.\x1b[0mOutOfMemoryError: CUDA out of memory",
        f" 99%|####9| 99/100 [00:10<00:00]\r100%|#####| 100/100\r{OOM}",
        f"{OOM}\r",
        f"显存不足 {OOM}",
        '{"level": "error", "msg": "CUDA out of memory on GPU 3"}',
    ],
)
def test_a_line_is_found_under_whatever_stands_before_it(seen, line):
    """Ranks, hosts, stamps, colours, progress bars, Chinese and structured logs."""
    assert SEEN in seen(f"step 1\n{line}\nstep 2\n")


@pytest.mark.parametrize(
    "line",
    [
        f"> {OOM}",
        "see `CUDA out of memory` in the guide",
        "+ echo 'CUDA out of memory'",
        'echo "if you see CUDA out of memory, take less"',
        "+ grep 'CUDA out of memory' slurm-1.out",
        "slurm-12.out:1044:CUDA out of memory",
        "old/slurm-12.out-1045-CUDA out of memory",
        '  restart_on: ["CUDA out of memory", "NCCL error"]',
        "oom_pattern = 'CUDA out of memory'",
        "  - 'CUDA out of memory'",
        '    raise RuntimeError("CUDA out of memory")',
        'if "CUDA out of memory" in str(error):',
        'logger.warning("CUDA out of memory, trying again")',
        "# CUDA out of memory is caught below",
        "  evidence  slurm-1.out:3 ┃ CUDA out of memory",
        "  fix      After `CUDA out of memory`, take less.",
        '        "text": "CUDA out of memory"',
    ],
)
def test_a_line_that_only_quotes_is_no_evidence(seen, line):
    """Markdown, a shell, grep, settings, source code, and what we print ourselves."""
    assert seen(f"step 1\n{line}\nstep 2\n") == []


def test_the_source_in_a_traceback_is_no_evidence(seen):
    """The line under `File "..."` is the program's text; the last line of the traceback is what happened."""
    text = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 7, in step\n'
        "    assert free > need, f'CUDA out of memory: {free}'\n"
        "AssertionError: CUDA out of memory: 7\n"
    )

    assert [line for mode, line in seen(text) if mode.startswith("gpu")] == [4]


@pytest.mark.parametrize(
    "header", ["==> old/slurm-7.out <==", "+ cat old/slurm-7.out", "$ tail -n 5 old/slurm-7.out"]
)
def test_another_log_that_lies_in_this_one_is_no_evidence(seen, header):
    """It is somebody else's failure."""
    assert seen(f"step 1\n{header}\n{OOM}\n") == []


def test_logs_that_tail_put_together_are_evidence(seen):
    """A file that begins with a header is a collection."""
    assert seen(f"==> rank0.log <==\n{OOM}\n") == [SEEN]


def test_a_trace_that_is_cut_is_read_as_far_as_it_goes(seen):
    """At its beginning and at its end."""
    assert seen(f'    y = f(x)\n{OOM}\nTraceback (most recent call last):\n  File "tr') == [SEEN]


def test_bytes_that_are_no_text_are_said_not_to_be(known, tmp_path):
    """A checkpoint that was given for a log."""
    path = tmp_path / "slurm-1.out"
    path.write_bytes(b"PK\x03\x04" + os.urandom(5000) + OOM.encode())

    result = read(find_sources([str(path)]), known)

    assert (result.sightings, result.unread) == ((), ((str(path), "not a text file"),))


def test_holes_in_a_text_are_passed_over(seen):
    """What a client of a network file system leaves when it dies."""
    assert seen("step 1\n" + "\0" * 6000 + OOM + "\n") == [SEEN]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip), (".xz", lzma), (".bz2", bz2)])
def test_a_packed_log_is_read(known, tmp_path, suffix, pack):
    """By its name's end."""
    path = tmp_path / f"a.log{suffix}"
    path.write_bytes(pack.compress(f"step 1\n{OOM}\n".encode()))

    (sighting,) = read(find_sources([str(path)]), known).sightings

    assert (sighting.position.source, sighting.position.line) == (str(path), 2)


@pytest.fixture
def zstd(tmp_path):
    """A log that zstd has packed; 40,000 lines, of which the last one tells."""
    if not shutil.which("zstd"):
        pytest.skip("zstd is not here (apt-get install zstd)")
    path = tmp_path / "a.log"
    path.write_text("step 1\n" * 40_000 + OOM + "\n")
    subprocess.run(["zstd", "-q", "--rm", path], check=True)
    return path.with_suffix(".log.zst")


def test_a_log_of_zstd_is_read(known, zstd):
    """By the program, where Python has no module for it."""
    (sighting,) = read(find_sources([str(zstd)]), known).sightings

    assert (sighting.position.source, sighting.position.line) == (str(zstd), 40_001)


def test_a_log_of_zstd_that_is_cut_is_read_as_far_as_it_goes(known, zstd):
    """Or it is said that it could not be."""
    zstd.write_bytes(zstd.read_bytes()[:20])

    ((name, reason),) = read(find_sources([str(zstd)]), known).unread

    assert name == str(zstd)
    assert "zstd cannot decompress the file" in reason


def test_without_zstd_it_is_said_what_to_do(known, zstd, monkeypatch):
    """Where neither the module nor the program is there."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "zstandard", None)

    ((_, reason),) = read(find_sources([str(zstd)]), known).unread

    assert "apt-get install zstd" in reason


def test_a_packed_log_that_is_cut_is_said_to_be(known, tmp_path):
    """Nothing is made up of it."""
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(OOM.encode() * 9)[:30])

    ((name, reason),) = read(find_sources([str(path)]), known).unread

    assert name == str(path)
    assert "ended before" in reason


def test_rotated_parts_are_one_log_in_the_order_of_writing(known, tmp_path):
    """`log.2.gz`, `log.1`, `log`."""
    (tmp_path / "run.log").write_text(f"{OOM}\n")
    (tmp_path / "run.log.1").write_text(f"{OOM}\n")
    (tmp_path / "run.log.2.gz").write_bytes(gzip.compress(f"{OOM}\n".encode()))
    (tmp_path / "run.log-20260101").write_text(f"{OOM}\n")

    sources = find_sources([str(tmp_path)])

    names = [source.name.rpartition("/")[2] for source in sources]
    assert names == ["run.log-20260101", "run.log.2.gz", "run.log.1", "run.log"]
    assert len({source.group for source in sources}) == 1


@pytest.mark.parametrize(
    ("name", "host", "rank"),
    [
        ("rank3.log", "", "3"),
        ("logs/gpu07-rank_12.err", "gpu07", "12"),
        ("attempt_0/5/stderr.log", "", "5"),
        ("logs/1/node2/0.err", "node2", ""),
        ("worker-3/stdout.log", "worker-3", "3"),
    ],
)
def test_a_name_tells_whose_a_log_is(known, tmp_path, name, host, rank):
    """Ours, torchrun's, and what people call theirs."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(f"{OOM}\n")

    (sighting,) = read(find_sources([str(tmp_path)]), known).sightings

    assert (sighting.host, sighting.rank) == (host, rank)


@pytest.mark.parametrize("size", [100, SMALL * 3, SIZE * 2 + 12345])
def test_one_line_without_end_is_read(known, size):
    """In pieces, with what lies across two of them found once."""
    text = "x" * (size - 7) + OOM + "y" * size

    found_ones = read([of_text("a", text)], known).sightings

    assert [(each.position.line, each.count) for each in found_ones if each.mode.kind == "gpu-oom"] == [
        (1, 1)
    ]
    assert all(len(each.text) <= 400 for each in found_ones)


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_a_text_across_two_pieces_is_found_once(known, shift):
    """Wherever the cut falls."""
    text = "x" * (SIZE - OVERLAP - shift) + "CUDA out of memory" + "y" * SIZE

    (sighting,) = read([of_text("a", text)], known).sightings

    assert sighting.count == 1


def test_lines_are_numbered_from_one_in_blocks_of_any_size(known):
    """Beyond the first block as in it, by the automaton as by the search text by text."""
    rows = ["step 1 loss 2.34"] * 400_000
    rows[5], rows[350_000] = OOM, OOM

    sightings = read([of_text("a", "\n".join(rows))], known).sightings

    assert [each.position.line for each in sightings if each.mode.kind == "gpu-oom"] == [6, 350_001]


def test_both_ways_of_looking_find_the_same():
    """Overlapping texts, too."""
    scanner = Scanner(["abcd", "bcde", "de\u4e2d", "zz"])
    line = "xabcde\u4e2d zz".encode()

    assert scanner.texts_in(line, large=True) == scanner.texts_in(line, large=False)
    assert set(scanner.places(line)) >= set(scanner.places(line * 20_000)) & set(range(len(line)))


def test_what_is_kept_does_not_grow_with_the_log(known):
    """A million lines of one rank are a few sightings and a count."""
    (first, *rest) = read([of_text("a", f"{OOM}\n" * 10_000)], known).sightings

    assert len(rest) < 4
    assert first.count + len(rest) == 10_000


def test_every_rank_of_a_merged_log_is_heard(known):
    """A vote needs all."""
    text = "".join(f"[rank{rank}]: CUDA out of memory\n" * 50 for rank in range(300))

    sightings = read([of_text("a", text)], known).sightings

    assert len({each.rank for each in sightings}) == 300


def test_the_kind_of_a_source_counts(seen):
    """Slurm's records are records only where they are asked for, or say that they are."""
    assert seen("State=TIMEOUT\n") == []
    assert seen("State=TIMEOUT\n", kind="sacct") == [("slurm-limits/time", 1)]
    assert seen("sacct:State=TIMEOUT\n") == [("slurm-limits/time", 1)]
    assert seen("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off\n") == [("gpu-hardware/xid", 1)]


def test_a_text_that_must_be_near_is_looked_for_before_and_after(seen):
    """Within 40 lines."""
    gap = "step\n"

    assert seen("worker went away\n" + gap * 39 + "prefetching batch\n") == [("dataloader/near", 1)]
    assert seen("prefetching batch\n" + gap * 39 + "worker went away\n") == [("dataloader/near", 41)]
    assert seen("worker went away\n" + gap * 41 + "prefetching batch\n") == []


def test_a_hostile_line_cannot_act_on_a_terminal(known):
    """Escape codes, control characters and signs that turn the direction of writing are gone."""
    hostile = (
        "\x1b]0;title\x07\x1b[2J\x1b[1;1HCUDA out of memory\u202egnihton\x9b31m\x07 <script>alert(1)</script>"
    )

    (sighting,) = read([of_text("a", hostile)], known).sightings

    assert sighting.text == "CUDA out of memorygnihton <script>alert(1)</script>"
    assert sighting.text.isprintable()


def test_a_mode_without_lines_is_not_seen():
    """No mode, no sighting."""
    assert read([of_text("a", OOM)], Knowledge({})).sightings == ()


def test_a_log_that_is_nothing_but_failures_is_bounded(known):
    """Of hundreds of ranks with a failure in every line, enough is kept; what was not seen before still is."""
    rows = [
        f"[rank{number % 9000}]: CUDA out of memory of the GPU, again and again" for number in range(250_000)
    ]

    sightings = read([of_text("a", "\n".join([*rows, "No space left on device"]))], known).sightings

    assert len(sightings) < 3 * MOST
    assert sightings[-1].mode.id == "storage-full/no-space"


@pytest.mark.parametrize(
    "line",
    [
        "a.out[4242]: segfault at 0 ip 0000000000000000 sp 00007ffd error 14 in {}[400000+1000]",
        "traps: a.out[4242] general protection fault ip:7f sp:7f error:0 in {}[400000+1000]",
        "process '/tmp/{}' started with executable stack",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/{},task=a.out,pid=1",
        "Tasks in /{} killed as a result of limit of /job_1",
    ],
)
def test_a_name_that_a_user_chose_is_no_fault_in_the_log_of_the_kernel(tmp_path, line):
    """The kernel prints names of files and control groups of any length: none of them is a lost GPU."""
    xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."
    path = tmp_path / "kern.log"
    for text, is_lost in ((xid, True), (line.format(xid), False)):
        path.write_text(f"2026-11-27T23:10:01+0000 gpu-node1 kernel: {text}\n")
        diagnoses = diagnose_log(path)
        assert any("xid" in diagnosis.mode for diagnosis in diagnoses) is is_lost
        assert not any(diagnosis.exclude for diagnosis in diagnoses)


@pytest.mark.parametrize("start", ["", "[  142.123456] ", "<4>[  142.123456] ", "[Fri Nov 27 23:10:01 2026] ",
                                   "Nov 27 23:10:01 gpu-node1 kernel: "])  # fmt: skip
@pytest.mark.parametrize("name", ["dmesg", "gpu-node1.log", "kern.log"])
def test_a_file_does_not_show_where_a_message_of_the_kernel_begins(tmp_path, start, name):
    """A user may have placed the line, so that it alone drains and excludes no host."""
    (tmp_path / name).write_text(
        f"{start}NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus\n"
    )
    (said, *_) = diagnose_log(tmp_path / name)

    assert "xid-79" in said.mode
    assert (said.exclude, said.confidence <= 0.8) == ("", True)
    assert "run wright check --hosts" in said.verify


@pytest.mark.parametrize("newlines", [1, 40])
@pytest.mark.parametrize(
    "start",
    [
        "[  142.123456] ",
        "<4>[  142.123456] ",
        "[Fri Nov 27 23:10:01 2026] ",
        "Nov 27 23:10:01 gpu-node1 kernel: ",
    ],
)
def test_a_newline_in_a_name_that_the_kernel_quotes_begins_no_message(tmp_path, start, newlines):
    """Each message has its time; what follows without one is the rest of a name that a user chose."""
    xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus"
    crash = "a.out[4242]: segfault at 0 ip 0000000000000000 sp 00007ffd error 14 in x"
    path = tmp_path / "dmesg.log"
    for indent in ("", "               ", " " * 34):
        for text, is_lost in ((xid, True), (crash + "\n" * newlines + indent + xid + "[400000+1000]", False)):
            path.write_text(f"{start}usb 1-1: new device\n{start}{text}\n")
            assert any("xid" in diagnosis.mode for diagnosis in diagnose_log(path)) is is_lost


@pytest.mark.parametrize("length", [1, 4000])
def test_a_carriage_return_in_a_name_that_the_kernel_quotes_begins_no_line(tmp_path, length):
    """A mount names its source, in any length; in a log of a program it ends a line, as in progress bars."""
    xid = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus"
    path = tmp_path / "dmesg.log"
    for start, is_lost in (("[  142.123456] tmpfs: Unknown parameter '", False), ("step 3 of 9", True)):
        path.write_text(f"{start}{'x' * length}\r[  143.123456] {xid}'\n")
        assert any("xid" in diagnosis.mode for diagnosis in diagnose_log(path)) is is_lost


XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus"
OF_KERNEL = {"_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel"}
OF_USER = {"_TRANSPORT": "journal", "_UID": "1005", "_PID": "7", "SYSLOG_IDENTIFIER": "kernel"}


@pytest.mark.parametrize(
    ("fields", "is_lost"),
    [
        (OF_KERNEL | {"MESSAGE": XID}, True),
        (OF_KERNEL | {"MESSAGE": [*XID.encode(), 0xFF]}, True),
        (OF_USER | {"MESSAGE": "x", "_TRANSPORT": "syslog", "_UID": "0"}, False),
        (OF_USER | {"MESSAGE": XID}, False),
        (OF_USER | {"MESSAGE": f"kernel: {XID}"}, False),
        (
            OF_USER | {"MESSAGE": "x", "SYSLOG_IDENTIFIER": f"x\n2026-11-28T08:00:00+0000 n1 kernel: {XID}"},
            False,
        ),
        (OF_KERNEL | {"MESSAGE": f"tmpfs: Unknown parameter '{XID}'"}, False),
        (OF_KERNEL | {"MESSAGE": f"x[1]: segfault at 0 in a\n[9.1] {XID}"}, False),
        (OF_KERNEL | {"MESSAGE": XID, "__REALTIME_TIMESTAMP": "9" * 30}, False),
        (OF_KERNEL | {"MESSAGE": XID, "__REALTIME_TIMESTAMP": "9" * 400}, False),
        (OF_KERNEL | {"MESSAGE": None}, False),
        (
            OF_USER | {"_UID": "0", "SYSLOG_IDENTIFIER": "sshd", "MESSAGE": f"Invalid user {XID} from ::1"},
            False,
        ),
    ],
)
def test_entries_of_the_journal_say_who_wrote_them(tmp_path, fields, is_lost):
    """Only the kernel reports a lost GPU, whatever a user's program calls itself; places are lines of the file."""
    entry = {"__REALTIME_TIMESTAMP": "1795856178636756", "_HOSTNAME": "gpu-node1"}
    first = entry | OF_USER | {"MESSAGE": "begins"}
    path = tmp_path / "journal.json"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in (first, entry | fields)) + "{" * 5000 + "\n")
    found = [diagnosis for diagnosis in diagnose_log(path) if "xid" in diagnosis.mode]

    assert bool(found) is is_lost
    for diagnosis in found:
        [evidence] = diagnosis.evidence
        assert evidence.line == 2
        assert evidence.text.startswith(f"2026-11-28T08:56:18+0000 gpu-node1 kernel: {XID}")


def _json(fields):
    return json.dumps(fields) + "\n"


def _pretty(fields):
    return json.dumps(fields, indent="\t", separators=(",", " : ")) + "\n"


def _export(fields):
    return "".join(f"{name}={value}\n" for name, value in fields.items()) + "\n"


def _export_with_sizes(fields):
    """Journald writes a field with a line end or another control character with its size."""
    rows = (
        f"{name}\n{struct.pack('<Q', len(value)).decode('latin-1')}{value}\n"
        for name, value in fields.items()
    )
    return f"__CURSOR=s=0f;i=1\n{''.join(rows)}\n"


FORMATS = {
    "json": _json,
    "json-seq": lambda fields: "\x1e" + _json(fields),
    "json-sse": lambda fields: f"data: {json.dumps(fields)}\n\n",
    "json-pretty": _pretty,
    "export": _export,
    "export-sizes": _export_with_sizes,
}
SENT = {"__CURSOR": "s=0f;i=1", "__REALTIME_TIMESTAMP": "1795856178636756", "_HOSTNAME": "gpu-node1"}


@pytest.mark.parametrize(
    ("fields", "is_lost"),
    [
        (OF_KERNEL | {"MESSAGE": XID}, True),
        (OF_USER | {"MESSAGE": XID}, False),
        (OF_USER | {"MESSAGE": f"x\nMESSAGE={XID}\n_TRANSPORT=kernel\n\n[9.1] {XID}"}, False),
        (OF_USER | {"MESSAGE": f"x\r[9.1] {XID}"}, False),
        (OF_USER | {"MESSAGE": f"{{\n}}\n[9.1] {XID}"}, False),
        (OF_USER | {"X": f"[9.1] {XID}", "MESSAGE": "x"}, False),
        (OF_KERNEL | {"MESSAGE": f"tmpfs: Unknown parameter '{XID}'"}, False),
        (OF_USER | {"MESSAGE": f"{'x' * (SIZE - 600)}{f' [9.1] {XID}' * 100}"}, False),
    ],
)
@pytest.mark.parametrize("form", FORMATS)
def test_each_format_of_the_journal_is_read_by_its_fields(tmp_path, form, fields, is_lost):
    """The text of an entry is in one of its lines, also behind a block's end and without a last line end."""
    if form == "export" and "\n" in fields["MESSAGE"]:
        form = "export-sizes"
    text = "".join(FORMATS[form](SENT | row) for row in (OF_USER | {"MESSAGE": "begins"}, fields))
    path = tmp_path / "journal.txt"
    path.write_bytes(text.rstrip("\n").encode("latin-1"))
    found = [diagnosis for diagnosis in diagnose_log(path) if "xid" in diagnosis.mode]

    assert bool(found) is is_lost
    for diagnosis in found:
        [evidence] = diagnosis.evidence
        assert evidence.text.startswith(f"2026-11-28T08:56:18+0000 gpu-node1 kernel: {XID}")
        assert XID in "\n".join(text.split("\n")[max(0, evidence.line - 20) : evidence.line + 1])
