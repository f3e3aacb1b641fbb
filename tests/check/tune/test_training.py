"""Settings of a training on hosts whose steps are as long as a test says; ranks for real are in test_trial.py."""

import json
from random import Random

import pytest

from clusterwright.check.bench.stage import StageAnswer
from clusterwright.check.tune.knobs import KnobSettings
from clusterwright.check.tune.of_training import RunTarget, knobs, usual
from clusterwright.check.tune.training import SKIPPED, Subject, tune_training
from clusterwright.check.tune.trials import Budget
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.script import settings

BUDGET = Budget(60, 1)
TEXT = """\
name: gpt  # ours
recipe: gpt
arguments: {steps: 300, microbatch: 4}
nodes: 4
gpus_per_node: 2
time: 30m
"""


def subject(cluster, text=TEXT):
    """The job, whose ranks are told what a run's would be."""
    return Subject(text, lambda job: f"{settings(job, cluster)}\nrecipe {job.arguments}")


def answering(seconds, *, loss=2.0, parameters=None):
    """Each host's answer, by what stands in the script of its ranks; rank 0's tells the steps."""
    random, asked = Random(5), []

    def answer(_host, part, _parts, _stage):
        if part.program != "trial":
            return StageAnswer(0, "{}", "")
        asked.append(part.given)
        step_s = seconds(part.given["script"])
        if step_s is None:
            return StageAnswer(1, "", "ValueError: no such thing")
        steps = [step_s * random.gauss(1, 0.01) for _ in range(part.given["steps"])]
        found = {"seconds": steps, "loss": loss, "cpus": 16, "parameters": parameters}
        return StageAnswer(0, json.dumps(found), "")

    answer.asked = asked
    return answer


def of_bf16(script):
    """Half the bytes, half the time."""
    return 0.5 if "COMPRESS=bf16" in script else 1.0


def test_what_changes_numbers_is_found_only_where_it_is_allowed(site, cluster):
    """And the loss with it is told beside the one without."""
    allowed = tune_training(site(answering(of_bf16)), subject(cluster), Budget(80, 1), numbers=True)
    kept = tune_training(site(strict := answering(of_bf16)), subject(cluster), BUDGET)

    assert allowed.outcome.winner == KnobSettings((("gradients.compress", "bf16"),))
    assert allowed.outcome.gain == pytest.approx(2, rel=0.03)
    assert "loss of the last measured step" in allowed.notes[0]
    assert not kept.outcome.won
    assert not any("COMPRESS" in given["script"] for given in strict.asked)


def test_the_best_of_several_knobs_is_set_together(site, cluster):
    """Threads, and pieces of the batch."""

    def seconds(script):
        return (0.7 if "OMP_NUM_THREADS=2" in script else 1.0) * (
            0.8 if "'microbatch': '16'" in script else 1.0
        )

    outcome = tune_training(site(answering(seconds)), subject(cluster), BUDGET).outcome

    assert outcome.won
    assert dict(outcome.winner.pairs) == {"OMP_NUM_THREADS": "2", "arguments.microbatch": "16"}


def test_ranks_are_numbered_over_the_hosts_and_meet_anew_in_each_trial(site, cluster):
    """Two on each of four hosts, at ports of their own."""
    tune_training(site(answer := answering(of_bf16)), subject(cluster), BUDGET)
    first, second = answer.asked[:4], answer.asked[4:8]

    assert [given["first_rank"] for given in first] == [0, 2, 4, 6]
    assert {(given["ranks"], given["ranks_here"], given["skip"]) for given in first} == {(8, 2, SKIPPED)}
    assert len({given["port"] for given in first}) == 1
    assert first[0]["port"] != second[0]["port"]
    assert first[0]["name"] != second[0]["name"]


@pytest.mark.parametrize("answer", [answering(lambda _script: None), answering(of_bf16, loss=None)])
def test_a_training_that_does_not_run_ends_the_search_at_once(site, cluster, answer):
    """Or whose loss is not finite; what it said is told."""
    with pytest.raises(WrightError, match=r"the first trial[^$]*failed"):
        tune_training(site(answer), subject(cluster), BUDGET)
    assert len(answer.asked) == 4


def test_a_knob_that_is_none_is_refused(site, cluster):
    """With those that there are, before anything runs."""
    with pytest.raises(WrightError, match=r"`FOO` is not a setting[^$]*OMP_NUM_THREADS"):
        tune_training(site(answer := answering(of_bf16)), subject(cluster), BUDGET, ["FOO"])
    assert answer.asked == []


def job(**fields):
    """A job of one rank on each host."""
    return Job.model_validate({"name": "j", "command": ("train.py",), "nodes": 2, "time": "1h", **fields})


def named(a_job):
    """Its knobs on hosts of 16 CPUs."""
    return {knob.variable: knob for knob in knobs(a_job, RunTarget("gloo", "compute", 16))}


def test_knobs_are_those_that_can_matter_to_the_job():
    """On one host nothing travels; a program's pieces are its own; threads are bound where one rank has the host."""
    assert set(named(job(nodes=1))) == {"OMP_NUM_THREADS", "OMP_PROC_BIND"}
    assert set(named(job(gpus_per_node=4))) == {
        "OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "gradients.bucket", "gradients.compress",
    }  # fmt: skip
    assert named(job(gpus_per_node=4))["OMP_NUM_THREADS"].values == ("1", "2", "4", "8")


def test_a_recipe_has_its_own_knobs():
    """Readers where it has any; pieces of a batch unless statistics are taken over them."""
    pictures = {"command": None, "recipe": "resnet", "gpus_per_node": 4}
    plain, grouped = named(job(**pictures)), named(job(**pictures, arguments={"norm": "group", "workers": 2}))

    assert plain["arguments.workers"].values == ("0", "1", "2", "4")
    assert "arguments.microbatch" not in plain
    assert grouped["arguments.microbatch"].values == ("32", "128", "256")
    assert usual(job(**pictures), RunTarget("gloo", "compute", 16))["arguments.workers"] == "-1"
    assert "arguments.workers" not in named(job(command=None, recipe="bert"))
    assert named(job(command=None, recipe="bert"))["arguments.microbatch"].values == ("4", "16", "32")


def test_what_is_usual_is_said_as_the_file_would_say_it():
    """So that it is not tried beside itself."""
    found = usual(job(gradients={"bucket": "1024KiB"}), RunTarget("gloo", "compute", 16))

    assert found["gradients.bucket"] == "1MiB"
    assert found["gradients.bucket"] in named(job())["gradients.bucket"].values
    assert found["OMP_NUM_THREADS"] == "16"


@pytest.mark.parametrize(("parameters", "said"), [(10**6, 0), (10**10, 1), (None, 0)])
def test_where_the_network_takes_a_part_of_the_step_it_says_what_would_spare_it(
    site, cluster, parameters, said
):
    """By the parameters that the training says it tracks, at line rate; a small one says nothing."""
    answer = answering(lambda _script: 1.0, parameters=parameters)
    notes = tune_training(site(answer), subject(cluster), BUDGET).notes
    found = [note for note in notes if note.startswith("gradients take")]

    assert len(found) == said
    assert all("wright plan gradients" in note for note in found)
