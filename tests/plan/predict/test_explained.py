"""One prediction, taken apart."""

import pytest

from clusterwright.plan import memory, speed
from clusterwright.plan.charts.sheet import TIME
from clusterwright.plan.memory import MemoryFit
from clusterwright.plan.predict.changes import changes
from clusterwright.plan.predict.explained import explained
from clusterwright.plan.predict.pages import render_html
from clusterwright.plan.predict.runs import run_of


@pytest.fixture
def found(row):
    """LLaMA-3 70B on 64 H100, explained."""
    return explained(*run_of(row))


def test_the_parts_add_up_to_wall_time(found):
    """No second is left without a name."""
    assert sum(seconds for _, _, seconds, _ in found.parts) == pytest.approx(float(found.time.total))
    assert sum(share for *_, share in found.parts) == pytest.approx(1.0)
    assert set(TIME) >= {name for name, *_ in found.parts}


def test_it_says_what_predict_says(found, row):
    """The same run, the same numbers."""
    run, _ = run_of(row)

    assert float(found.time.total) == float(speed.iteration(run).total)
    assert max(float(held.total) for held in found.stages) == pytest.approx(float(memory.peak(run).total))
    assert len(found.stages) == run.layout.pp
    assert found.low < float(found.time.total) < found.high


def test_changes_are_predicted_again_and_keep_the_gpus(row):
    """Each change's own time is the model's time of its own run; the best comes first."""
    run, _ = run_of(row | {"recompute": "full"})
    now = float(speed.iteration(run).total) / run.training.global_batch

    found = changes(run)

    assert found
    assert [each.saved for each in found] == sorted((each.saved for each in found), reverse=True)
    for each in found:
        own = float(speed.iteration(each.run).total)
        assert own == each.seconds
        assert each.saved == pytest.approx(1 - own / each.run.training.global_batch / now)
        assert each.run.layout.gpus == run.layout.gpus
        assert each.run.machine.gpus == run.machine.gpus
    assert any("recomputation" in each.description for each in found)


def test_a_change_that_does_not_fit_says_so(row):
    """It is shown all the same: it tells what memory costs."""
    run, _ = run_of(
        row | {"tp": "1", "pp": "8", "dp_or_fsdp": "DP:8", "recompute": "full", "micro_batch": "4"}
    )

    verdicts = {each.description: each.memory_fit for each in changes(run)}

    assert verdicts["no recomputation"] is MemoryFit.OOM


def test_every_number_it_rests_on_has_a_source(found):
    """Facts name where they are from; coefficients name what they were fitted on."""
    assert all(source for _, _, source in found.origins)
    assert found.origins[-1][0] == "fitted"


def test_the_page_is_one_file_in_two_languages(found):
    """Pictures inside, nothing fetched."""
    html = render_html(found)

    assert html.count("<svg") >= 4  # waterfall and memory, for desk and phone
    assert "时间去向" in html
    assert "src=" not in html
