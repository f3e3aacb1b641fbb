"""Every kind of event in a run's folder: its writer, the occasion, and its fields.

docs/reference/events.md is generated from this table, and a test compares the code with it.
"""

from __future__ import annotations

from typing import Dict, NamedTuple


class EventKind(NamedTuple):
    """One kind of event."""

    writer: str
    when: str
    fields: Dict[str, str]


SUPERVISOR, AGENT, RANK, RANK0 = "supervisor", "agent", "each rank", "rank 0"
UPLOADER = "uploader"

# Fields of every event.
COMMON = {
    "time": "seconds since the epoch, by the writer's clock",
    "event": "the kind",
    "host": "the writer's host",
    "generation": "the generation that it belongs to; 0 before the first",
    "rank": "the rank; only in events of ranks, and of agents about a rank",
}

KINDS = {
    "job_start": EventKind(SUPERVISOR, "a job of the run starts, or another supervisor takes over inside it", {
        "job_id": "Slurm's number of the job",
        "hosts": "its hosts, standby hosts included",
        "ranks": "GPUs, and so ranks, per host",
    }),
    "failover": EventKind(SUPERVISOR, "another supervisor takes over the job after the loss of its own", {
        "job_id": "Slurm's number of the job",
        "number": "the supervisor's number in the run",
        "lost_host": "the host of the previous supervisor",
    }),
    "generation_start": EventKind(SUPERVISOR, "the supervisor starts the ranks of a set of hosts", {
        "hosts": "the hosts that train",
        "address": "address of the rendezvous store",
        "port": "the store's port",
        "step": "the step to resume from, if known",
        "source": "memory or disk",
    }),
    "generation_end": EventKind(SUPERVISOR, "the supervisor ends the ranks", {
        "reason": "finished, stopped, ranks-failed, host-lost, hung, grown",
        "first_failure": "the first failing rank and why, in one line",
    }),
    "host_lost": EventKind(SUPERVISOR, "a host sends no heartbeat, or is isolated on the ranks' network", {
        "lost_host": "the host",
        "heartbeat_age_s": "seconds since its last message",
        "reason": "heartbeat timeout, the error of the connection, or the host that it cannot reach",
    }),
    "host_ready": EventKind(SUPERVISOR, "a host's agent is ready", {
        "ready": "the host",
    }),
    "successor": EventKind(SUPERVISOR, "a successor job is submitted", {
        "job_id": "its number",
        "exclude": "hosts excluded from it",
        "reason": "why this job cannot continue",
    }),
    "job_end": EventKind(SUPERVISOR, "the job ends", {
        "outcome": "finished, failed, no-progress, cancelled, handed-over",
        "reason": "the reason as text",
    }),
    "standby": EventKind(AGENT, "a host's fork server is ready, or cannot start", {
        "seconds": "how long its imports took",
        "bytes": "its memory",
        "reason": "why ranks start cold on this host",
        "forkserver": "its process id",
        "problems": "modules that the fork server could not import",
    }),
    "sample": EventKind(AGENT, "each second at first, then after 2 % of the generation's time; in samples/", {
        "step": "by local rank: the last step that it had completed",
        "own": "by local rank: seconds of its own parts of all steps so far, without waiting for others",
        "waited": "by local rank: the part of these that it waited for batches",
        "memory": "by local rank: resident bytes of its process and of its descendants",
        "available": "bytes that can still be allocated on the host",
    }),
    "rank_exit": EventKind(AGENT, "a rank, or a launcher such as torchrun, has exited with another code than 0", {
        "local_rank": "its number on the host",
        "code": "exit code; negative for a signal",
        "signal": "the signal that ended it",
        "step": "the last step that it had completed",
        "message": "its exception, or the error line of its log",
        "cause": "exit (by the program), or a cause of the runtime, such as not-finite or checkpoint-format",
    }),
    "rank_hung": EventKind(SUPERVISOR, "a rank is found hung", {
        "on": "its host",
        "local_rank": "its number on the host",
        "step": "the last step that it had completed",
        "seconds": "how long it made no progress",
        "message": "the finding",
        "stacks": "folder of the stacks of all ranks",
    }),
    "process_start": EventKind(RANK, "the rank has imported the runtime", {
        "pid": "its process id",
        "started": "when its process was created",
    }),
    "group_ready": EventKind(RANK, "all ranks have joined the process group", {
        "world_size": "number of ranks",
    }),
    "resumed": EventKind(RANK, "a checkpoint is loaded", {
        "step": "its step",
        "seconds": "duration of the load",
        "checkpoint": "its folder's name",
    }),
    "restored": EventKind(RANK, "the state of an earlier generation is loaded", {
        "step": "its step",
        "seconds": "duration of the load",
        "source": "memory or disk",
    }),
    "plan": EventKind(RANK0, "the training loop begins", {
        "step": "the step to start from",
        "total_steps": "the step at which it ends; null for the end of the data",
        "batch": "samples per step, over all ranks; null if the runtime does not distribute them",
        "workers": "reader processes of rank 0",
        "cpus": "CPUs per rank",
        "device": "rank 0's GPU, or cpu",
        "dtype": "data type of the computation",
        "parameters": "number of parameters of the tracked model",
        "flops": "floating-point operations per step, over all ranks; null if unknown",
    }),
    "communication": EventKind(RANK0, "the runtime has determined whether exposed communication can be measured", {
        "status": "measured; bounded (on rank 0, slower ranks included); or why not: alone, sharded, stages, other",
    }),
    "readers": EventKind(RANK0, "the number of reader processes is determined", {
        "workers": "the number",
        "read_s": "seconds to read a batch",
        "train_s": "seconds of a step without reading",
        "cpus": "CPUs per rank",
    }),
    "data": EventKind(RANK0, "a recipe has read its data", {
        "samples": "number of training samples",
        "held_out": "number of evaluation samples",
        "bad": "number of samples skipped as unreadable",
        "first_bad": "the first of them, with the reason",
    }),
    "bad_sample": EventKind(RANK, "a sample cannot be read and is replaced by another one", {
        "message": "file, sample and reason",
    }),
    "step": EventKind(RANK0, "an optimizer step is complete", {
        "step": "number of complete steps",
        "loss": "the loss; null if not finite",
        "loss_hex": "its exact bits",
        "seconds": "from the request for its batch to its end",
        "busy": "sum of `seconds` since the loop began",
        "waited": "seconds that these steps waited for batches, on rank 0",
        "waited_most": "the same, on the rank that waited longest in each vote interval",
        "communicated": "seconds of exposed communication so far; after a vote, if measured",
        "communicated_of": "seconds in the steps that `communicated` covers",
        "lr": "the learning rate of the first group of parameters",
        "norm": "norm of all gradients before clipping; null if not finite",
        "memory": "bytes: peak GPU memory of tensors, or resident memory of the process; at most once per second",
        "reading": "CPU seconds of the readers so far; at most once per second",
        "epoch": "the epoch of the step",
        "tokens": "tokens of the step, if the training reports them",
    }),
    "straggler": EventKind("the slow rank", "the others wait for this rank; again when they no longer do", {
        "step": "the last complete step",
        "ratio": "its own part of a step over the median of the other ranks",
        "own": "seconds of its own part of a step, without waiting for others",
        "typical": "the median of the same over the other ranks",
        "over": "true when the rank is no longer slow",
    }),
    "copy": EventKind(RANK0, "the state was copied into memory (in-memory checkpoint)", {
        "step": "the step",
        "seconds": "how long the training paused for it",
        "bytes": "size of the copy",
        "copies": "number of copies since the last such event; `seconds` is their sum",
    }),
    "copies_refused": EventKind(RANK0, "too little memory for in-memory checkpoints; training continues without", {}),
    "memory_bad": EventKind(RANK0, "an in-memory checkpoint is unusable; the training resumes from storage", {
        "reason": "the reason",
    }),
    "checkpoint_staged": EventKind(RANK0, "a checkpoint is copied to memory, and written from there asynchronously", {
        "step": "the step",
        "seconds": "how long the training paused for it",
    }),
    "checkpoint": EventKind(RANK0, "a checkpoint is complete on storage and verified", {
        "step": "the step",
        "seconds": "duration of the save",
        "bytes": "its size",
    }),
    "checkpoint_failed": EventKind(RANK0, "a checkpoint could not be written; the training continues", {
        "step": "the step",
        "reason": "the error",
    }),
    "checkpoint_bad": EventKind(RANK0, "a damaged checkpoint is skipped", {
        "step": "the step",
        "reason": "the damage",
    }),
    "checkpoint_uploaded": EventKind(UPLOADER, "a checkpoint is complete in object storage", {
        "step": "the step",
        "seconds": "duration of verification and upload",
        "bytes": "its size",
    }),
    "checkpoint_upload_failed": EventKind(UPLOADER, "a checkpoint could not be uploaded; the uploader retries", {
        "step": "the step",
        "reason": "the error",
    }),
    "upload_restored": EventKind(UPLOADER, "a checkpoint was restored from object storage, before the ranks start", {
        "step": "the step",
        "seconds": "duration of download and verification",
    }),
    "pause": EventKind(RANK0, "a pause of the loop ends (`run.pause`)", {
        "name": "its purpose",
        "step": "the last complete step",
        "seconds": "its duration",
    }),
    "measure": EventKind(RANK0, "the script records a measurement (`run.measure`)", {
        "name": "name of the measurement",
        "value": "the value; null if not finite",
        "step": "the last complete step",
    }),
    "nan": EventKind(RANK0, "a loss or gradient is not finite", {
        "step": "the step",
        "quantity": "the loss, or the norm of the gradients",
        "ranks": "the ranks",
        "values": "the value on each of them: nan, inf or -inf",
        "action": "stop, or skip (the update is dropped)",
    }),
    "corrupt": EventKind(RANK0, "state that must be identical differs between ranks", {
        "step": "the step",
        "quantity": "the state that differs",
        "ranks": "the ranks that differ",
        "hosts": "the hosts of these ranks",
        "sure": "true if a majority of ranks agrees",
        "action": "the action taken",
    }),
    "stopped": EventKind(RANK0, "the loop has stopped early on request", {
        "step": "the last complete step",
        "reason": "signal, deadline, a stop file, or regroup (the next generation has more ranks)",
    }),
    "finished": EventKind(RANK0, "the training is complete", {
        "step": "the last step",
        "loss": "its loss",
        "loss_hex": "its exact bits",
    }),
}  # fmt: skip
