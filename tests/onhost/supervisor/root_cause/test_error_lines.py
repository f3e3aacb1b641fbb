"""The last words of a rank, from what real programs leave at the end of their logs."""

import subprocess
import sys

import pytest

from clusterwright.onhost.supervisor.root_cause.error_lines import (
    LONGEST,
    extract_error_message,
    is_consequence,
    last_line,
    shorten,
)

# Programs that fail, run here, so that the text is this Python's own.
PROGRAMS = {
    "raise RuntimeError('out of luck')": "RuntimeError: out of luck",
    "try: {}['x']\nexcept KeyError as e: raise ValueError('bad') from e": "ValueError: bad; after KeyError: 'x'",
    "try: {}['x']\nexcept KeyError: raise ValueError('bad')": "ValueError: bad; after KeyError: 'x'",
    "raise ExceptionGroup('many', [ValueError('one'), OSError(5, 'two')])":
        "ExceptionGroup: many (2 sub-exceptions); first sub-exception ValueError: one",
    "def f(): raise ValueError('in')\ntry: f()\nexcept ValueError as e: raise ExceptionGroup('g', [e])":
        "ExceptionGroup: g (1 sub-exception); first sub-exception ValueError: in",
    "raise RuntimeError('one\\ntwo')": "RuntimeError: one",
    "x = = 3": "SyntaxError: invalid syntax",
    "class Own(Exception): pass\nraise Own('of mine')": "Own: of mine",
    "import traceback\ntry: 1/0\nexcept ZeroDivisionError: traceback.print_exc()\nraise OSError('the end')":
        "OSError: the end",
    "import sys; sys.exit('told to')": "",
}  # fmt: skip

# Lines as the software prints them, from public threads; each with what is to be said.
LINES = {
    # pytorch/pytorch#118369
    "[Rank 7] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=64088, OpType=ALLREDUCE) ran for 25 ms":
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=64088, OpType=ALLREDUCE) ran for 25 ms",
    # NVIDIA/nccl#1235: the closed connection is what the others saw
    "include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\nx:1 NCCL WARN socketProgress: Connection closed by "
    "remote peer": "Cuda failure 'out of memory'",
    # OpenHelix-Team/cobra#24, as torchrun shows it
    "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 158.00 MiB.":
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 158.00 MiB.",
    # ArjunaCluster/ArjunaUsers#52
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup.":
        "Detected 1 oom-kill event(s) in StepId=191.batch cgroup.",
    # msr-fiddle/pipedream#76
    "Caught signal 7 (Bus error: nonexistent physical address)":
        "Caught signal 7 (Bus error: nonexistent physical address)",
    # marin-community/marin#8934
    "CUDA_ERROR_CONTAINED: Invalid access of peer GPU memory over nvlink or a hardware error":
        "CUDA_ERROR_CONTAINED: Invalid access of peer GPU memory over nvlink or a hardware error",
    "\x1b[31mloss 0.3\x1b[0m\nepoch 2 begins": "",
}  # fmt: skip


def run(program):
    """What it wrote to stderr."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize(("program", "said"), PROGRAMS.items(), ids=PROGRAMS.values())
def test_what_a_python_program_raised(program, said):
    """Chains say where they began, groups their first member; what was caught and printed before does not count."""
    assert extract_error_message("loss 0.3\n" + run(program)) == said


@pytest.mark.parametrize(("log", "said"), LINES.items(), ids=LINES.values())
def test_what_other_software_says(log, said):
    """Without a traceback; of several lines the one that others do not cause."""
    assert extract_error_message("epoch 1 begins\n" + log + "\n") == said


def test_a_segmentation_fault_is_named_by_the_interpreter():
    """With faulthandler on, as in every rank of ours."""
    log = run("import faulthandler, os, signal; faulthandler.enable(); os.kill(os.getpid(), signal.SIGSEGV)")

    assert extract_error_message(log, signalled=True) == "Fatal Python error: Segmentation fault"


def test_a_caught_exception_does_not_explain_a_signal():
    """What C++ said after it does."""
    log = (
        run("1/0")
        + "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: misaligned\n"
    )

    assert extract_error_message(log, signalled=True) == "CUDA error: misaligned"
    assert extract_error_message(log) == "ZeroDivisionError: division by zero"


def test_torch_itself_is_understood():
    """An error from torch's C++ side, raised here."""
    log = run("import torch; torch.ones(2) @ torch.ones(3)")

    assert extract_error_message(log).startswith("RuntimeError: inconsistent tensor size")


def test_a_program_that_leaves_with_words_is_quoted():
    """The last line that is not empty."""
    assert last_line(run("import sys; sys.exit('told to')") + "\n\n") == "told to"


@pytest.mark.parametrize(
    "rule", ["=" * 60, "-" * 74, "***" * 20, "│" * 8, "═" * 40, "+---+---+", "~~~~ ~~~~", "...."]
)
def test_a_rule_is_no_last_line(rule):
    """The line above a line of `=` or of box characters has the words."""
    assert last_line(f"epoch 2\nno file at /data/train.bin\n{rule}\n{rule}\n") == "no file at /data/train.bin"


def test_a_log_of_rules_alone_has_no_last_line():
    """The exit code is all that is known of such a program."""
    assert last_line("====\n----\n\n") == ""


def test_the_summary_of_torchrun_is_no_rule():
    """Its summary ends in a line of `=`; the exit code of the first rank that failed is in it."""
    rule = "=" * 60
    fields = "  host      : node1\n  rank      : 3 (local_rank: 3)\n  exitcode  : 2 (pid: 4242)\n  error_file: <N/A>"
    summary = f"{rule}\ntrain.py FAILED\nRoot Cause (first observed failure):\n[0]:\n{fields}\n{rule}\n"

    assert extract_error_message(summary) == "exitcode : 2 (pid: 4242)"


def test_a_message_loses_its_rules_and_keeps_other_marks():
    """An exception whose text is framed by lines of `=`."""
    assert shorten("ValueError: \n=====\nbad batch a == b\n=====") == "ValueError: bad batch a == b"


def test_a_line_stays_one_line_of_bearable_length():
    """What is cut off is shown to be."""
    said = extract_error_message(f"ValueError: {'x' * 1000}\n")

    assert (len(said), said[-3:]) == (LONGEST, "...")


@pytest.mark.parametrize(
    ("words", "follows"),
    [
        ("DistBackendError: [../x.cpp:1] Connection closed by peer [10.0.0.2]:5", True),
        ("RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection reset by peer", True),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", True),
        ("DistBackendError: ncclRemoteError: A call failed possibly due to a network error", True),
        ("DistStoreError: Timed out after 1801 seconds waiting for clients. 1/3 clients joined.", True),
        ("OutOfMemoryError: CUDA out of memory", False),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'train.bin'", False),
        ("RuntimeError: Detected mismatch between collectives on ranks", False),
    ],
)
def test_consequences_are_known(words, follows):
    """What a rank says when another one is gone."""
    assert is_consequence(words) is follows
