"""Every kind of event that a run's folder may hold: who writes it, when, and what it says.

docs/reference/events.md is made from this table, and a test holds the code to it.
"""

from __future__ import annotations

from typing import Dict, NamedTuple


class Kind(NamedTuple):
    """One kind of event."""

    writer: str
    when: str
    fields: Dict[str, str]


SUPERVISOR, AGENT, RANK, RANK0 = "supervisor", "agent", "each rank", "rank 0"

# What every event has.
COMMON = {
    "time": "seconds since the epoch, by the writer's clock",
    "event": "the kind",
    "host": "where the writer runs",
    "generation": "the generation that it belongs to; 0 before the first",
    "rank": "the rank; only of ranks, and of what an agent says about one",
}

KINDS = {
    "job_start": Kind(SUPERVISOR, "a job of the run begins, or another supervisor takes over inside it", {
        "job_id": "Slurm's number of the job",
        "hosts": "its hosts, spares too",
        "ranks": "GPUs, and so ranks, of each host",
    }),
    "takeover": Kind(SUPERVISOR, "another supervisor goes on inside the job, whose own was lost", {
        "job_id": "Slurm's number of the job",
        "number": "which supervisor of the run it is",
        "lost": "the host of the one before",
    }),
    "generation_start": Kind(SUPERVISOR, "the ranks of a set of hosts are told to start", {
        "hosts": "the hosts that train",
        "address": "where the generation's store listens",
        "port": "the store's port",
        "step": "the step from which it goes on, where that is known",
        "source": "memory or disk",
    }),
    "generation_end": Kind(SUPERVISOR, "the ranks are told to end", {
        "why": "finished, stopped, ranks-failed, host-lost, hung, grown",
        "first": "the first failing rank and why, in one line",
    }),
    "host_lost": Kind(SUPERVISOR, "a host is not heard any more, or nothing passes in its ranks' network", {
        "lost": "the host",
        "silence_s": "seconds since it was heard last",
        "why": "silent, what the connection said, or whom it does not reach",
    }),
    "host_ready": Kind(SUPERVISOR, "a host's agent is there", {
        "ready": "the host",
    }),
    "successor": Kind(SUPERVISOR, "another job is to go on", {
        "job_id": "its number",
        "exclude": "hosts that it must not use",
        "why": "why this job cannot go on",
    }),
    "job_end": Kind(SUPERVISOR, "the job is over", {
        "outcome": "finished, failed, no-progress, cancelled, handed-over",
        "why": "in words",
    }),
    "standby": Kind(AGENT, "what forks ranks is ready on a host, or cannot be", {
        "seconds": "how long its imports took",
        "bytes": "memory that it holds",
        "why": "why ranks start cold here",
        "forkserver": "its process",
        "problems": "modules that could not be imported ahead",
    }),
    "rank_exit": Kind(AGENT, "a rank has ended with another exit code than 0; or torchrun, which counts as one", {
        "local_rank": "its number on the host",
        "code": "exit code; negative for a signal",
        "signal": "the signal that ended it",
        "step": "the last step that it had completed",
        "words": "its exception, or the line that says why",
        "cause": "why it left: exit (by itself), or of the runtime not-finite, corrupt, corrupt-host; else not there",
    }),
    "rank_hung": Kind(SUPERVISOR, "a rank is found to hang", {
        "on": "its host",
        "local_rank": "its number on the host",
        "step": "the last step that it had completed",
        "seconds": "how long it had stood still",
        "words": "what was seen",
        "stacks": "where the stacks of all ranks are",
    }),
    "process_start": Kind(RANK, "the rank has imported the runtime", {
        "pid": "its process",
        "started": "when its process was made",
    }),
    "group_ready": Kind(RANK, "all ranks are one process group", {
        "world_size": "how many they are",
    }),
    "resumed": Kind(RANK, "a checkpoint is loaded", {
        "step": "its step",
        "seconds": "how long that took",
        "checkpoint": "its folder's name",
    }),
    "restored": Kind(RANK, "the state of an earlier generation is loaded", {
        "step": "its step",
        "seconds": "how long that took",
        "source": "memory or disk",
    }),
    "plan": Kind(RANK0, "the loop begins", {
        "step": "the step from which it goes on",
        "until": "the step at which it ends; null for the end of the data",
        "batch": "samples of a step, over all ranks; null where the runtime does not deal them out",
        "workers": "processes of rank 0 that read ahead",
        "cpus": "processors for each rank",
        "device": "rank 0's GPU, or cpu",
        "dtype": "the numbers' form in which it computes",
        "parameters": "of what is tracked",
        "flops": "floating-point operations of a step, over all ranks; null where nobody says so",
    }),
    "communication": Kind(RANK0, "it is known whether communication that nothing hides can be measured", {
        "known": "measured; bounded: of rank 0 alone, slower ranks in it; or why not: alone, sharded, stages, other",
    }),
    "readers": Kind(RANK0, "how many processes read ahead is found out", {
        "workers": "how many",
        "read_s": "what a batch took to read",
        "train_s": "what a step took without it",
        "cpus": "processors for each rank",
    }),
    "data": Kind(RANK0, "a recipe has read its data", {
        "samples": "how many there are to train on",
        "held_out": "how many are kept for evaluation",
        "bad": "how many could not be read and were passed over",
        "first": "the first of these, with the reason",
    }),
    "bad_sample": Kind(RANK, "a sample could not be read, and another one stands for it", {
        "words": "which sample of which file, and why",
    }),
    "step": Kind(RANK0, "an optimiser step is complete", {
        "step": "how many are complete",
        "loss": "the loss; null for one that is not finite",
        "loss_hex": "its exact bits",
        "seconds": "from the request for its batch to its end",
        "busy": "the same of all steps since the loop began, together",
        "waited": "seconds that these steps waited for their batches, on rank 0",
        "waited_most": "the same on whichever rank waited longest from one vote to the next",
        "communicated": "seconds in steps that were nothing but communication so far; after a vote, if it is measured",
        "communicated_of": "seconds in steps of which that is said",
        "lr": "the learning rate of the first group of parameters",
        "norm": "that of all gradients before clipping; null for one that is not finite",
        "memory": "bytes: the most that tensors held of the GPU, or what the process holds; each second at most",
        "reading": "processor seconds of what read batches so far; each second at most",
        "epoch": "the epoch in which it lies",
        "tokens": "how many tokens it saw, where the training says so",
    }),
    "straggler": Kind("the slow rank", "others are found to wait for it; and again when they do so no more", {
        "step": "the last complete step",
        "ratio": "its own part of a step, over that of the middle one of the other ranks",
        "own": "seconds: its own part of a step, until it would begin to wait for others",
        "typical": "the same of the middle one of the others",
        "over": "true where it is over",
    }),
    "copy": Kind(RANK0, "the state was copied into memory", {
        "step": "the step",
        "seconds": "how long the training stood still for it",
        "bytes": "how much",
        "copies": "how many since the last such event; `seconds` are those of all of them",
    }),
    "copies_refused": Kind(RANK0, "there is no room in memory for copies; the training goes on without", {}),
    "memory_bad": Kind(RANK0, "copies in memory cannot be used; the disk has the next word", {
        "why": "what was found",
    }),
    "checkpoint_staged": Kind(RANK0, "a checkpoint is copied aside, and written from there behind the training", {
        "step": "the step",
        "seconds": "how long the training stood still for it",
    }),
    "checkpoint": Kind(RANK0, "a checkpoint is on disk, whole and verified", {
        "step": "the step",
        "seconds": "how long it took",
        "bytes": "its size",
    }),
    "checkpoint_failed": Kind(RANK0, "a checkpoint could not be written; the training goes on", {
        "step": "the step",
        "why": "what was in the way",
    }),
    "checkpoint_bad": Kind(RANK0, "a damaged checkpoint is passed over", {
        "step": "the step",
        "why": "what is wrong with it",
    }),
    "pause": Kind(RANK0, "a pause of the loop is over (`run.pause`)", {
        "name": "what it was for",
        "step": "the last complete step",
        "seconds": "how long it was",
    }),
    "measure": Kind(RANK0, "something was measured (`run.measure`)", {
        "name": "what",
        "value": "the number; null for one that is not finite",
        "step": "the last complete step",
    }),
    "nan": Kind(RANK0, "a loss or gradient is not finite", {
        "step": "the step",
        "what": "the loss, or the norm of the gradients",
        "ranks": "on which ranks",
        "values": "what it was on each of them: nan, inf or -inf",
        "then": "stop, or skip: the update is dropped",
    }),
    "corrupt": Kind(RANK0, "ranks that must hold the same bits do not", {
        "step": "the step",
        "what": "what differs",
        "ranks": "which ranks",
        "hosts": "and where they run",
        "sure": "whether a majority says so",
        "then": "what is done about it",
    }),
    "stopped": Kind(RANK0, "the loop has ended early, in order", {
        "step": "the last complete step",
        "why": "signal, deadline, a stop file, or regroup: the next generation has more ranks",
    }),
    "finished": Kind(RANK0, "the training is complete", {
        "step": "the last step",
        "loss": "its loss",
        "loss_hex": "its exact bits",
    }),
}  # fmt: skip
