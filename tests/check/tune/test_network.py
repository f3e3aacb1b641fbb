"""Settings of collectives on hosts whose all-reduce is as fast as a test says."""

import json
import subprocess
from dataclasses import replace
from random import Random

import pytest

from clusterwright.check.bench.stage import StageAnswer
from clusterwright.check.tune.knobs import KnobSettings
from clusterwright.check.tune.network import tune_network
from clusterwright.check.tune.trials import LEAST, Budget
from clusterwright.check.tune.written import OF_JOB, difference, with_settings
from clusterwright.errors import WrightError

BUDGET = Budget(40, 1)
TEXT = "name: lab  # ours\njobs:\n  variables:\n    OMP_NUM_THREADS: '4'\n"


def answering(gains, *, wrong=0):
    """What the hosts print: rank 0's host its rows, by the settings of the order."""
    random = Random(3)

    def answer(host, part, parts, _stage):
        if host != next(iter(parts)):
            return StageAnswer(0, "", "")
        value = gains.get(part.given["environment"].get("GLOO_SOCKET_IFNAME", ""), 1.0)
        if value is None:
            return StageAnswer(1, "", "gloo: no such interface")
        rows = [
            {
                "kind": "all_reduce_pieces", "size": size, "count": size // 4, "redop": "sum", "time_us": 1e3,
                "algbw": 0.1, "busbw": 0.1 * value * random.gauss(1, 0.01), "wrong": wrong, "ranks": 4,
            }
            for size in part.given["sizes"]
        ]  # fmt: skip
        return StageAnswer(0, "".join(json.dumps(row) + "\n" for row in rows) + '{"carried": {}}\n', "")

    return answer


def test_two_connections_win_where_they_are_faster(site):
    """The winner is what the file is to say."""
    found = tune_network(site(answering({"compute,compute": 1.3, "compute,compute,compute": None})), BUDGET)

    assert found.outcome.won
    assert dict(found.outcome.winner.pairs) == {"GLOO_SOCKET_IFNAME": "compute,compute"}
    assert found.outcome.gain == pytest.approx(1.3, rel=0.03)


def test_where_nothing_helps_nothing_is_set(site):
    """Every value is as fast as the default."""
    assert not tune_network(site(answering({})), BUDGET).outcome.won


def test_wrong_data_is_no_result(site):
    """However fast it came; the default counts as not run."""
    with pytest.raises(WrightError, match="tune-nothing-ran"):
        tune_network(site(answering({}, wrong=3)), BUDGET)


def test_a_budget_for_nothing_is_said():
    """Fewer trials than the last comparison takes; with the least that is of any use."""
    with pytest.raises(WrightError, match=f"--budget {LEAST}"):
        Budget(LEAST - 1, 1)


def test_the_least_budget_tries_something_and_is_kept(site):
    """One setting, with all its comparisons."""
    told = site(answering({f"{'compute,' * times}compute": 1.5 for times in (1, 3, 7)}))
    found = tune_network(told, Budget(LEAST, 1))

    assert found.outcome.won
    assert len(told.stage.orders) == LEAST


def test_a_knob_that_is_none_is_refused_with_those_there_are(site):
    """Before anything else is tried."""
    told = site(answering({}))

    with pytest.raises(WrightError, match=r"`GLOO_SOCKETS` is not a setting[^$]*GLOO_SOCKET_IFNAME"):
        tune_network(told, BUDGET, ["GLOO_SOCKETS"])
    assert told.stage.orders == []


def test_what_the_file_sets_is_the_default_of_the_search(site):
    """Where it sends collectives over a slow network, the declared one wins."""
    told = site(answering({"management": 0.1, "compute": 1.0}))
    badly = told.cluster.jobs.model_copy(update={"variables": {"GLOO_SOCKET_IFNAME": "management"}})
    found = tune_network(replace(told, cluster=told.cluster.model_copy(update={"jobs": badly})), BUDGET)

    assert found.outcome.won
    assert "compute" in dict(found.outcome.winner.pairs)["GLOO_SOCKET_IFNAME"].split(",")
    assert found.outcome.gain == pytest.approx(10, rel=0.1)
    assert found.knobs[0].values[0] == "compute"


def test_what_is_written_is_a_difference_that_can_be_taken_back(site, tmp_path):
    """By patch -R, to the letter; a setting with a dot is a field of the job file."""
    file = tmp_path / "cluster.yaml"
    winner = tune_network(site(answering({"compute,compute": 1.3})), BUDGET).outcome.winner
    written = with_settings(TEXT, winner)
    file.write_text(written)
    subprocess.run(["patch", "-R", file], input=difference(TEXT, written, str(file)), text=True, check=True)

    assert "    GLOO_SOCKET_IFNAME: compute,compute\n" in written
    assert file.read_text() == TEXT
    assert difference(TEXT, TEXT, "cluster.yaml") == ""
    field = KnobSettings((("gradients.bucket", "4MiB"),))
    assert with_settings("name: gpt\n", field, OF_JOB) == 'name: gpt\n\ngradients:\n  bucket: "4MiB"\n'
