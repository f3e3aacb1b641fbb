"""Where DistributedDataParallel lays gradients; whole trainings of four ranks are in test_run.py."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import group
from clusterwright.runtime.services import buckets

pytestmark = pytest.mark.train


@pytest.fixture
def alone():
    """A group of one rank."""
    joined = group.join({})
    yield
    joined.destroy()


def made(**options):
    """A model with a layer that is not trained, and buffers that nobody may change."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
    model[0].requires_grad_(False)
    return torch.nn.parallel.DistributedDataParallel(model, **options)


@pytest.mark.parametrize("wrap", [lambda each: each, lambda each: torch.compile(each, backend="eager")])
def test_the_layout_is_final_before_the_first_step(alone, wrap):
    """In the order that the backward pass has in any step; torch.compile around it is no hindrance."""
    parallel = made()
    buckets.settle(wrap(parallel))
    parallel(torch.ones(4, 2)).sum().backward()
    noted = parallel._get_ddp_logging_data()

    assert noted["prev_iteration_grad_ready_order_indices"] == "3, 2, 1, 0"


def test_nothing_else_changes(alone):
    """Weights, buffers and gradients are those of before, and the model is in its place."""
    parallel = made()
    model, held = parallel.module, torch.ones(1, 3)
    model[2].weight.grad = held
    before = {name: each.clone() for name, each in model.state_dict().items()}
    buckets.settle(parallel)

    assert parallel.module is model
    assert parallel.broadcast_buffers
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())
    assert [each.grad is None for each in model.parameters()] == [True, True, True, True, False, True]
    assert model[2].weight.grad is held
    assert held.tolist() == [[1.0, 1.0, 1.0]]


@pytest.mark.parametrize("options", [{"find_unused_parameters": True}, {"static_graph": True}])
def test_what_lays_out_in_another_way_is_left_alone(alone, options):
    """It is shown nothing, and trains as before."""
    parallel = made(**options)
    buckets.settle(parallel)

    assert "prev_iteration_grad_ready_order_indices" not in parallel._get_ddp_logging_data()
    parallel(torch.ones(4, 2)).sum().backward()
    assert parallel.module[2].weight.grad is not None


@pytest.mark.parametrize("other", [3, None, torch.nn.Linear(1, 1)])
def test_anything_else_is_left_alone(other):
    """A scheduler, a model that is not in DistributedDataParallel: nothing is looked for in it."""
    assert buckets.settle(other) is None
