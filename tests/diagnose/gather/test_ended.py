"""What is gathered of a job that ended, from a cluster that answers as Slurm 22.05 does."""

import json
import re
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from tests.diagnose.gather.journal_rows import row

from clusterwright.diagnose.diagnosis import Diagnosis
from clusterwright.diagnose.gather.ended import _query_script, gather, sources_of
from clusterwright.diagnose.gather.run_findings import add_run_findings
from clusterwright.diagnose.gather.slurm_records import MARGIN_S, outputs, window
from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import of_text, read
from clusterwright.diagnose.reading.line import split_prefix
from clusterwright.diagnose.reading.read import TimeBudget
from clusterwright.diagnose.report import format_report
from clusterwright.diagnose.subjects import log as diagnose_log
from clusterwright.edge.bundler import RUN_TEXTS, bundle_script
from clusterwright.edge.fakes import FakeRemote

NOW = 1795390000
SACCT = "JobID|JobName|State|ExitCode\n7|gpt|OUT_OF_MEMORY|0:125\n7.0|python|OUT_OF_MEMORY|0:125"
CONTROL = {
    "now": f"{NOW} 2026-11-22T23:26:40",
    "job": "JobId=7 JobState=OUT_OF_MEMORY StdErr=/shared/slurm-7.out StdOut=/shared/slurm-7.out",
    "sacct": SACCT,
    "line": "1001|/home/bob|sbatch -o out-%j.txt job.sh",
    "window": f"{NOW - 500}|{NOW - 100}|gpu-[1-2]|7",
    "nodes": (
        "NodeName=gpu-1 State=DOWN* Reason=Not responding [slurm@2026-11-22T23:25:00]\n"
        "NodeName=gpu-2 State=IDLE+DRAIN Reason=an old tale [root@2026-11-20T01:25:00]\n"
        "NodeName=gpu-3 State=DOWN* Reason=another job's [slurm@2026-11-22T23:25:00]"
    ),
    "slurmctld": (
        "2026-11-22T23:24:00+0000 control slurmctld[1]: JobId=7 failed\n"
        "2026-11-22T23:24:00+0000 control slurmctld[1]: JobId=77 failed\n"
        "2026-11-22T23:26:30+0000 control slurmctld[1]: error: Nodes gpu-1 not responding, setting DOWN"
    ),
}
FILES = {
    "run": "",
    "jobs": [],
    "events": [],
    "texts": [{"path": "/shared/slurm-7.out", "host": "", "local": "", "text": "hm"}],
}


def cluster(down=(), **changes):
    """A control host and two others, of which some are down."""

    def answer(host, command, stdin):
        if stdin:
            return json.dumps(FILES | changes.get("files", {}))
        if host != "control":
            kernel = "\n".join(row(text) for text in changes.get("kernel", [f"{host}: oom"]))
            return f"@@ kernel\n{kernel}\n@@ slurmd\n"
        return "".join(
            f"@@ {name}\n{text}\n"
            for name, text in (CONTROL | changes).items()
            if name not in ("files", "kernel")
        )

    return FakeRemote(answer, down=frozenset(down))


def texts(found):
    """Of each source what it holds, by name."""
    return {source.name: source.open().read().decode() for source in found.sources}


def test_everything_of_the_jobs_own_time_and_hosts_is_a_source():
    """Accounting, slurmctld, reasons of its own nodes, each host's kernel log; nothing of other jobs or later."""
    found = gather(cluster(), "control", "/shared/runs", "7")
    told = texts(found)

    assert found.state == "OUT_OF_MEMORY"
    assert found.hosts == ("gpu-1", "gpu-2")
    assert "State=OUT_OF_MEMORY ExitCode=0:125" in told["sacct"]
    assert told["slurmctld"].splitlines() == ["2026-11-22T23:24:00+0000 control slurmctld[1]: JobId=7 failed"]
    assert "Not responding" in told["scontrol show node"]
    assert not any("an old tale" in text or "another job" in text for text in told.values())
    assert {source.kind for source in found.sources} == {"log", "sacct", "scontrol", "slurm", "kernel"}
    assert told["gpu-1 kernel"] == "2026-11-22T23:26:40+0000 gpu-1 kernel: gpu-1: oom"


def test_a_run_with_many_job_ids_is_gathered_in_time_linear_in_the_log():
    """The owner of a run writes its ids, and long lines into slurmctld's log; self-healing waits meanwhile."""
    line = "2026-11-22T23:24:00+0000 control slurmctld[1]: {}: invalid partition " + "JJJ a.b JobId=1 " * 60
    log = "\n".join([*map(line.format, range(5_000)), CONTROL["slurmctld"]])
    files = {"jobs": [str(number) for number in range(1_000_000, 1_030_000)] + ["7"]}
    remote = cluster(files=files, slurmctld=log)
    begun = time.process_time()
    found = gather(remote, "control", "/shared/runs", "7")

    assert time.process_time() - begun < 5
    assert texts(found)["slurmctld"].splitlines() == CONTROL["slurmctld"].splitlines()[:1]


def test_the_query_has_the_last_thousand_job_ids_of_a_run():
    """The kernel limits an argument to 128 KiB."""
    command = []

    def answer(_host, given, stdin):
        command.append(given)
        return (
            json.dumps(FILES | {"jobs": list(map(str, range(50_000, 80_000)))}) if stdin else "@@ now\n0 x\n"
        )

    gather(FakeRemote(answer), "control", "/shared/runs", "7")
    query = next(text for text in command if "squeue" in text)

    assert "79999" in query
    assert "50000" not in query
    assert len(query) < 64 << 10


def test_slurmctlds_log_is_searched_as_far_as_the_budget_of_the_job_allows():
    """The other parts are complete."""
    found = gather(cluster(), "control", "/shared/runs", "7", TimeBudget(most_s=-1.0))

    assert texts(found)["slurmctld"] == ""
    assert "OUT_OF_MEMORY" in texts(found)["sacct"]


@pytest.mark.parametrize(
    ("text", "is_about"),
    [
        ("JobId=7 failed", True), ("JobId=7+1(8) failed", True), ("JobId=77 failed", False), ("XJobId=7", True),
        ("JobId=7_3(9) failed", False), ("JobId=12_4(13) failed", True), ("JobId=12 failed", False),
        ("error: gpu-1.lab:6818 refused", True), ("node gpu-1, gpu-9", True), ("gpu-1.", True), ("gpu-11", False),
    ],
)  # fmt: skip
def test_a_line_is_of_the_job_if_it_names_the_job_or_a_host(text, is_about):
    """By whole names."""
    line = f"2026-11-22T23:24:00+0000 control slurmctld[1]: {text}"
    found = gather(cluster(files={"jobs": ["12_4", "7"]}, slurmctld=line), "control", "/shared/runs", "7")

    assert bool(texts(found)["slurmctld"]) == is_about


def test_a_host_that_does_not_answer_is_named_and_the_others_are_read():
    """Its silence is no reason to say nothing."""
    found = gather(cluster(down={"gpu-1"}), "control", "/shared/runs", "7")

    assert found.unreachable == ("gpu-1",)
    assert "gpu-2 kernel" in texts(found)


def test_without_accounting_slurmctld_is_believed():
    """Five minutes long; then the run's folder is all there is."""
    none = {"sacct": "", "line": "", "window": ""}
    times = f"{NOW - 50}|{NOW - 10}|gpu-2"
    found = gather(cluster(times=times, **none), "control", "/shared/runs", "7")

    assert (found.state, found.hosts) == ("OUT_OF_MEMORY", ("gpu-2",))


@pytest.mark.parametrize(
    ("asked", "paths"),
    [
        ({"job": "JobId=7 StdErr=/a/e StdOut=/a/o"}, ("/a/o", "/a/e")),
        (
            {"job": "", "line": "1001|/home/bob|sbatch -o out-%j.txt -e /x/%A.err job.sh"},
            ("/home/bob/out-7.txt", "/x/7.err"),
        ),
        ({"job": "", "line": "1001|/home/bob|sbatch job.sh"}, ("/home/bob/slurm-7.out",)),
        ({"job": "JobId=7 StdErr=/dev/null StdOut=/dev/null"}, ()),
        ({}, ()),
    ],
)
def test_where_a_job_printed_is_known_from_slurm_or_its_submission(asked, paths):
    """Also when slurmctld has forgotten the job."""
    assert outputs(asked, "7") == paths


@pytest.mark.parametrize("forged", ["evil.example.com", "[[[", "gpu-2,evil.example.com"])
def test_a_comment_of_a_user_sends_nobody_to_other_hosts(forged):
    """Slurm prints it behind the real list in the record of the job; what is no list counts for nothing."""
    record = f"JobId=7 NodeList=gpu-1 Comment=x NodeList={forged}"
    times = f"{NOW - 500}|{NOW - 100}|gpu-1\n{record}"
    hosts = window({"now": f"{NOW} 2026-11-22T23:26:40", "times": times, "job": record}).hosts

    assert "evil.example.com" not in hosts
    assert set(hosts) <= {"gpu-1", "gpu-2", "gpu-3"}


def test_a_reason_in_local_time_is_compared_with_the_epoch():
    """The control host's zone is known from its own clock, told both ways."""
    when = window({"now": f"{NOW} 2026-11-23T07:26:40", "window": f"{NOW - 100}|{NOW - 50}|gpu-1|7"})

    assert when.zone_s == 8 * 3600
    assert when.contains_reason("Not responding [slurm@2026-11-23T07:25:30]")
    assert not when.contains_reason("Not responding [slurm@2026-11-23T06:25:30]")


def test_a_rank_that_hangs_is_who_the_others_wait_for():
    """The runtime examined it: its verdict comes first."""
    event = {
        "event": "rank_hung",
        "rank": 3,
        "on": "gpu-2",
        "message": "waits in train.py:12; no bytes read or written",
        "time": 1.0,
    }
    found = gather(cluster(files={"events": [event]}), "control", "/shared/runs", "7")
    said = add_run_findings(found, [])[0]

    assert said.subject == {"rank": "3", "host": "gpu-2"}
    assert "waits in train.py:12" in said.cause
    assert "all other ranks wait for it" in said.cause


CANCELED = (
    {"event": "generation_start", "time": 1.0, "generation": 1},
    {"event": "generation_end", "time": 5.0, "generation": 1, "reason": "stopped"},
    {"event": "host_lost", "time": 6.0, "generation": 1, "lost_host": "gpu-1"},
    {"event": "job_end", "time": 7.0, "outcome": "cancelled", "reason": "canceled by the user"},
)
LOST = Diagnosis(
    kind="node-lost", mode="node-lost/not-responding", role="root", cause="", subject={"host": "gpu-1"},
    confidence=0.84, evidence=(), fix="", retry="elsewhere", exclude="gpu-1",
)  # fmt: skip
AN_UNKNOWN = replace(LOST, kind="unknown", mode="unknown", exclude="")


def canceled(*more):
    """What is found of a run that its user canceled, which Slurm has as FAILED, with further events."""
    files = {
        "run": "/shared/runs/gpt-20261121-100000",
        "state": ["cancelled", "canceled by the user"],
        "events": [*CANCELED, *more],
    }
    return gather(
        cluster(sacct=SACCT.replace("OUT_OF_MEMORY", "FAILED"), files=files), "control", "/runs", "7"
    )


def test_a_canceled_run_has_one_cause():
    """Hosts that leave after the cancellation are its consequence, and no host is excluded for them."""
    first, *others = add_run_findings(canceled(), [LOST, AN_UNKNOWN])

    assert (first.mode, first.role, first.exclude) == ("other/cancelled", "root", "")
    assert first.cause == "The run was canceled; nothing in it failed."
    assert "outcome=cancelled" in first.evidence[0].text
    assert first.fix.endswith("`wright train --resume gpt-20261121-100000` continues it")
    assert [(other.mode, other.role, other.exclude) for other in others] == [
        ("node-lost/not-responding", "cascade", "")
    ]
    assert format_report([first, *others]).count("confidence") == 1


def test_a_fault_before_the_cancellation_stays_a_fault():
    """The user may have canceled the run because of it."""
    lost = {"event": "host_lost", "time": 3.0, "generation": 1, "lost_host": "gpu-1"}
    first, second = add_run_findings(canceled(lost), [LOST])

    assert first.cause == "The run was canceled."
    assert second == LOST


def test_the_state_of_the_run_decides_what_is_fine():
    """Slurm has the job of a canceled run as FAILED; without a run its state counts."""
    found = canceled()

    assert (found.state, found.run_state, found.is_fine) == ("FAILED", "cancelled", True)
    assert not gather(cluster(), "control", "/runs", "7").is_fine


@pytest.mark.parametrize("time", ["soon", None, [1], 10**30, float("nan")])
def test_an_event_without_a_time_that_is_a_number_breaks_nothing(time):
    """Users write their events."""
    first, *_others = add_run_findings(canceled({"event": "host_lost", "time": time}), [LOST])

    assert first.mode == "other/cancelled"


@pytest.mark.parametrize("state", [None, 7, "cancelled", [["x"], {}], [1]])
def test_a_damaged_state_is_none(state):
    """The answer of the control host passes through users' files."""
    found = gather(cluster(files={"state": state}), "control", "/runs", "7")

    assert found.run_state not in ("cancelled", "finished")


def far(*words):
    """What the program that is sent to the control host prints."""
    argv = [sys.executable, "-", *map(str, words)]
    done = subprocess.run(argv, input=bundle_script(RUN_TEXTS), capture_output=True, check=True)
    return json.loads(done.stdout)


def test_all_ranks_of_the_last_generations_are_read_on_the_host_that_has_them(tmp_path):
    """By a job's id or the run's name; ranks' logs with their hosts, stacks too, long ones cut in the middle."""
    run = tmp_path / "gpt-20261122-230000"
    for number in (1, 2, 3):
        (run / "logs" / str(number) / "gpu-1").mkdir(parents=True)
        (run / "logs" / str(number) / "gpu-1" / "0.err").write_text(f"generation {number}")
    (run / "logs/3/gpu-1/1.stacks").write_text("File train.py")
    (run / "slurm-7.out").write_bytes(b"first\n" + b"x" * (60 << 20) + b"\nlast")
    (run / "jobs").write_text("7\n")
    (run / "job.json").write_text("{}")
    (run / "events").mkdir()
    (run / "events/supervisor.jsonl").write_text(
        '{"event": "step", "time": 1}\n{"event": "rank_hung", "time": 2}\n{"ev'
    )
    by_id, by_name = far(tmp_path, "7", "", 60), far(tmp_path, run.name, "", 60)
    found = {one["path"].removeprefix(f"{run}/"): one for one in by_id["texts"]}

    assert by_id == by_name
    assert set(found) == {"slurm-7.out", "logs/2/gpu-1/0.err", "logs/3/gpu-1/0.err", "logs/3/gpu-1/1.stacks"}
    assert (found["logs/3/gpu-1/0.err"]["host"], found["logs/3/gpu-1/0.err"]["text"]) == (
        "gpu-1",
        "generation 3",
    )
    assert found["slurm-7.out"]["text"].startswith("first")
    assert found["slurm-7.out"]["text"].endswith("last")
    assert len(found["slurm-7.out"]["text"]) < 49 << 20
    assert [event["event"] for event in by_id["events"]] == ["rank_hung"]


def test_a_job_that_is_no_run_has_the_files_that_slurm_names(tmp_path):
    """And none that are not there."""
    (tmp_path / "slurm-9.out").write_text("hello")
    found = far(tmp_path / "runs", "9", "0", 60, tmp_path / "slurm-9.out", tmp_path / "none.out")

    assert [one["text"] for one in found["texts"]] == ["hello"]
    assert found["run"] == ""


def test_a_step_daemon_that_names_its_node_names_the_host():
    """As slurmstepd does where several slurmd may run on one machine; it was read as a host of that name."""
    line = "0: slurmstepd-gpu-node1: error: Detected 1 oom-kill event(s) in StepId=7.0."

    assert split_prefix(line)[:2] == ("0", "gpu-node1")


@pytest.mark.parametrize("forged", ["²", "9" * 5000, "-1", "N/A"])
def test_a_time_that_is_no_number_is_no_time(forged):
    """It would end the self-healing of the cluster."""
    rows = f"{forged}|{forged}|gpu-2|7\n{NOW - 500}|{NOW - 100}|gpu-1|7"
    when = window({"now": f"{NOW} 2026-11-22T23:26:40", "window": rows, "times": rows})

    assert (when.begin, when.end) == (NOW - 500, NOW - 100 + MARGIN_S)


def test_the_times_of_a_job_come_from_columns_that_no_user_writes():
    """Of slurmctld's record of a job, its name, comment and folder could forge them."""
    script = _query_script("7")
    (times,) = re.findall(r"^part times (.*)", script, re.MULTILINE)

    assert times == "squeue --noheader --all --states=all --jobs=7 --format='%S|%e|%N'"


def test_the_memory_of_a_running_job_is_compared_with_its_limit():
    """What sstat prints on the controller, with the limit of the job's record; the command is of its last job."""
    job = "JobId=7 JobState=RUNNING AllocTRES=cpu=16,mem=128G,node=2,billing=16"
    remote = cluster(
        job=job, sacct="JobID|State\n7|RUNNING", memory="JobID|MaxRSS|MaxVMSize|\n7.0|65000000K|99000000K|"
    )
    found = gather(remote, "control", "/shared/runs", "7")
    (sstat,) = [source for source in found.sources if source.kind == "output"]
    (diagnosis, *_) = judge(read([sstat], knowledge()))

    assert diagnosis.mode == "host-oom/near-limit"
    assert "62 GiB of its memory limit of 64 GiB" in diagnosis.cause
    assert any("sstat --parsable --allsteps -j 7" in command for _, command in remote.calls)


@pytest.mark.parametrize(("state", "asked"), [("RUNNING", True), ("COMPLETED", False)])
def test_the_disks_of_a_running_job_are_measured(state, asked):
    """For a second, on its hosts; after its end they are those of other jobs."""
    remote = cluster(job=f"JobId=7 JobState={state}", sacct=f"JobID|State\n7|{state}")
    gather(remote, "control", "/shared/runs", "7")
    commands = [command for host, command in remote.calls if host == "gpu-1" and "kernel" in command]

    assert commands
    assert all(("iostat -dxy 1 1" in command) == asked for command in commands)


def test_a_full_disk_of_a_host_is_a_source_of_that_host():
    """Its name is with the finding."""
    report = "Device r/s r_await w/s w_await aqu-sz %util\nsda 210 44 0 0 9.3 100"
    (source,) = sources_of({"gpu-1": {"disks now": report}})
    (diagnosis, *_) = judge(read([source], knowledge()))

    assert (diagnosis.mode, diagnosis.subject["host"]) == ("storage-io/device-busy", "gpu-1")
    assert diagnosis.exclude == ""


XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus."


def judged(host, **changes):
    """The first diagnosis of a job whose output on a host has an Xid."""
    text = {"path": f"/shared/runs/x/logs/1/{host}/0.out", "host": host, "local": "0", "text": XID}
    found = gather(cluster(files={"texts": [text]}, **changes), "control", "/shared/runs", "7")
    diagnoses = add_run_findings(found, judge(read(found.sources, knowledge())))
    return next(diagnosis for diagnosis in diagnoses if diagnosis.mode.endswith("xid-79-fell-off-bus"))


def test_what_a_user_printed_of_a_host_is_to_be_verified():
    """Whoever reads it could otherwise drain a healthy host of others."""
    said = judged("gpu-1")
    assert said.exclude == "gpu-1"
    assert said.verify.endswith("before you drain gpu-1, run wright check --hosts gpu-1")
    assert "  verify    only output that the job's user can write shows this" in format_report([said])
    assert said.table()["verify"] == said.verify


def test_a_fault_of_a_host_that_a_user_wrote_into_events_is_to_be_verified():
    """A record of the run can name any host, and the fix is to drain one."""
    found = gather(cluster(), "control", "/shared/runs", "7")
    event = "host_lost host=gpu-9 reason=XID 79"
    lines = (of_text("events of the run", event, kind="event"),)
    found = replace(found, sources=lines, user_sources=frozenset({"events of the run"}))
    diagnoses = add_run_findings(found, judge(read(found.sources, knowledge())))
    (said,) = [one for one in diagnoses if one.mode.endswith("xid-79-fell-off-bus")]

    assert said.exclude == ""
    assert said.verify.endswith("before you drain HOST, run wright check --hosts HOST")


def test_a_host_that_is_none_of_the_job_is_not_excluded():
    """A user can name any host in a folder of logs."""
    said = judged("gpu-9")
    assert said.exclude == ""
    assert said.verify.startswith("gpu-9 is no host of the job")


def test_what_the_kernel_of_the_host_shows_needs_no_verification():
    """It is no output of a job."""
    found = gather(cluster(), "control", "/shared/runs", "7")
    kernel = tuple(sources_of({"gpu-1": {"kernel": f"2026-11-22T23:24:00+0000 gpu-1 kernel: {XID}"}}))
    (said, *_) = add_run_findings(replace(found, sources=kernel), judge(read(kernel, knowledge())))
    assert (said.exclude, said.verify) == ("gpu-1", "")


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\u2028", "\n2026-11-22T23:26:40+0000 gpu-1 kernel: ", "' ", " "]
)
@pytest.mark.parametrize(
    "start",
    [
        "a.out[4242]: segfault at 0 ip 0000000000000000 sp 00007ffd error 14 in x",
        "tmpfs: Unknown parameter 'x",
        "NVRM: API mismatch: the client has the version x",
        "cgroup: fork rejected by pids controller in /x",
        "cgroup2: Unknown parameter 'it's",
        "overlayfs: failed to resolve '/x",
        "9pnet: Could not find request transport: x",
        "Memory cgroup stats for /x",
        "coredump: 77(x",
        "NVRM: GPU[9155]: segfault at 0 ip 0 sp 7 error 6 in GPU at PCI 0000:3b:00 has fallen off the bus",
    ],
)
def test_a_name_in_a_message_of_the_kernel_is_no_message(start, end):
    """A user chooses it, with line ends and quotes."""
    for text, is_lost in ((XID, True), (f"{start}{end}{XID}'[400000+1000]", False)):
        found = gather(cluster(kernel=[text]), "control", "/shared/runs", "7")
        diagnoses = judge(read(found.sources, knowledge()))
        assert any("gpu-hardware" in diagnosis.mode for diagnosis in diagnoses) is is_lost


@pytest.mark.parametrize(
    "text", ["Out of memory: Killed process 77 (Xid 79) total-vm:1kB",
             "Xid 79[77]: segfault at 0 ip 1 sp 2 error 4 in x[1+1]",
             "INFO: task Xid 79:77 blocked for more than 120 seconds.",
             "CPU: 1 PID: 77 Comm: Xid 79 Tainted: P",
             "NVRM: Xid (PCI:0000:3b:00): 13, pid=77, name=\nNVRM: Xid 79, Ch 1"],
)  # fmt: skip
def test_the_name_of_a_process_is_no_lost_gpu(text):
    """It has 15 characters."""
    found = gather(cluster(kernel=[text]), "control", "/shared/runs", "7")
    diagnoses = judge(read(found.sources, knowledge()))
    assert not any("xid-79" in diagnosis.mode for diagnosis in diagnoses)


def test_the_folder_of_a_run_is_output_of_its_user(tmp_path):
    """Named as a path, it has no record of Slurm, and its logs can name any host."""
    (tmp_path / "x/logs/1/gpu-1").mkdir(parents=True)
    (tmp_path / "x/logs/1/gpu-1/0.out").write_text(f"{XID}\n")
    assert "begins a message" in diagnose_log(tmp_path / "x")[0].verify
    (tmp_path / "x/job.json").write_text("{}")
    assert "check --hosts gpu-1" in diagnose_log(tmp_path / "x")[0].verify
