"""The same names, whatever a model is wrapped in."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import group
from clusterwright.runtime.services import names

pytestmark = pytest.mark.train


def made():
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))


def compiled(model):
    """Wrapped, not yet compiled: that would happen at the first call."""
    return torch.compile(model, backend="eager")


def in_place(model):
    """As `run.compile` does it."""
    model.compile(backend="eager")
    return model


def inside(model):
    model[0] = compiled(model[0])
    return model


FORMS = {
    "plain": made,
    "compiled": lambda: compiled(made()),
    "compiled in place": lambda: in_place(made()),
    "a layer of it compiled": lambda: inside(made()),
    "ddp": lambda: torch.nn.parallel.DistributedDataParallel(made()),
    "compiled inside ddp": lambda: torch.nn.parallel.DistributedDataParallel(compiled(made())),
    "ddp inside compiled": lambda: compiled(torch.nn.parallel.DistributedDataParallel(made())),
}


@pytest.mark.parametrize("then", FORMS)
@pytest.mark.parametrize("now", FORMS)
def test_what_one_form_saves_every_other_form_loads(then, now):
    """Compiled then and not now, or the other way round."""
    alone = group.join({})
    try:
        saved, model = names.state(names.bare(FORMS[then]())), names.bare(FORMS[now]())
        names.load(model, saved)
        loaded = names.state(model)

        assert list(saved) == list(made().state_dict())
        assert all(torch.equal(saved[name], loaded[name]) for name in saved)
    finally:
        alone.destroy()


def test_other_names_are_refused_by_torch():
    """A missing tensor and an unexpected one are both named."""
    saved = names.state(made())
    saved["2.weight"] = saved.pop("0.weight")

    with pytest.raises(RuntimeError, match=r"(?s)Missing.*0.weight.*Unexpected.*2.weight"):
        names.load(names.bare(compiled(made())), saved)


def test_what_is_no_model_has_its_own_state():
    """Optimizers have no wrapping."""
    optimizer = torch.optim.SGD(made().parameters(), lr=0.5)

    assert names.bare(optimizer) is optimizer
    assert names.state(optimizer) == optimizer.state_dict()


def test_moments_lie_in_memory_as_their_weights_do():
    """A fused step over channels-last weights after a load is the step without one: it pairs numbers by their place."""

    def begun():
        torch.manual_seed(0)
        model = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        return model, torch.optim.AdamW(model.parameters(), lr=0.1, fused=True)

    def stepped(model, optimizer):
        model(torch.arange(75.0).view(1, 3, 5, 5)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        return [each.detach().clone() for each in model.parameters()]

    model, optimizer = begun()
    weights = stepped(model, optimizer)
    saved = optimizer.state_dict()
    in_rows = {
        number: {name: value.clone(memory_format=torch.contiguous_format) for name, value in moments.items()}
        for number, moments in saved["state"].items()
    }
    again, loaded = begun()
    with torch.no_grad():
        for mine, value in zip(again.parameters(), weights, strict=True):
            mine.copy_(value)
    names.load(loaded, {**saved, "state": in_rows})

    for mine, value in zip(stepped(again, loaded), stepped(model, optimizer), strict=True):
        assert torch.equal(mine, value)


def test_weights_that_other_ranks_hold_have_moments_by_name_and_shape_alone():
    """Numbers and kinds are those of the rank that has them all; taken over again, nothing of them is kept."""
    torch.manual_seed(0)
    whole, stage = (torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 4)) for _ in range(2))
    stage[0].to("meta")
    optimizers = [torch.optim.AdamW(each.parameters(), lr=0.1) for each in (whole, stage)]
    for layers, optimizer in zip((whole, stage[1:]), optimizers, strict=True):
        layers(torch.ones(1, layers[0].in_features)).sum().backward()
        optimizer.step()
    full, part = map(names.state, optimizers)
    shapes = [
        {(n, k): tuple(v.shape) for n, m in each["state"].items() for k, v in m.items()}
        for each in (full, part)
    ]
    names.load(optimizers[1], part)

    assert list(shapes[0].items()) == list(shapes[1].items())
    assert [m["exp_avg"].is_meta for m in part["state"].values()] == [True, True, False, False]
    assert {weight.is_meta for weight in optimizers[1].state} == {False}


def test_a_sharded_optimizer_collects_its_state_on_request():
    """As FairScale's OSS, which refuses its state until all ranks have sent theirs."""

    class Sharded:
        def consolidate_state_dict(self, recipient_rank=0):
            raise AssertionError("the argument of state_dict does this on all ranks")

        def state_dict(self, all_ranks=False):
            return {"whole": all_ranks}

    assert names.state(Sharded()) == {"whole": True}
