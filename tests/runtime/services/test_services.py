"""Precision and its scaler, in trainings of two real ranks."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import group, settings
from clusterwright.runtime.services import services

pytestmark = pytest.mark.train


@pytest.mark.parametrize("precision", ["fp16", "bf16", "none"])
def test_a_killed_training_resumes_bit_for_bit_in_every_precision(train, precision):
    """The scaler's factor and its count of good steps go on where they were."""
    how = {"script": "evaluating", "TOY_PRECISION": precision, "TOY_BATCHES": 0}
    undisturbed = train(name="undisturbed", **how)
    train(TOY_KILL="1:6", **how)

    resumed = train(**how)
    assert resumed.codes == undisturbed.codes == [0, 0], resumed.log
    assert resumed.losses() == undisturbed.losses()
    assert [event["step"] for event in resumed.events("resumed")] == [4]


@pytest.fixture
def alone():
    """What a process without a launcher is given."""
    joined = group.join({})
    yield services.Services(joined, settings.read(None, None, None, {}, precision="fp16"))
    joined.destroy()


def test_the_scaler_is_tracked_where_it_does_something():
    """A run in bfloat16 has none in its checkpoints."""
    joined = group.join({})
    try:
        fp16, bf16 = (
            services.Services(joined, settings.read(None, None, None, {}, precision=each))
            for each in ("fp16", "bf16")
        )
        assert fp16._tracked.state() == {"scaler": fp16.scaler.state_dict()}
        assert bf16._tracked.state() == {}
    finally:
        joined.destroy()


def test_a_compiled_model_is_the_same_object_with_the_same_names(alone):
    """DistributedDataParallel around it, too."""
    model = torch.nn.Linear(2, 2)
    parallel = torch.nn.parallel.DistributedDataParallel(model)

    assert alone.compile(parallel, backend="eager") is parallel
    assert list(model.state_dict()) == ["weight", "bias"]
    torch.testing.assert_close(
        parallel(torch.ones(1, 2)), torch.nn.functional.linear(torch.ones(1, 2), *model.parameters())
    )


def test_the_mesh_is_made_once(alone):
    """All ranks of the dimension that replicates, as nothing else was said."""
    assert alone.mesh is alone.mesh
    assert alone.mesh.shape == (1, 1, 1, 1)
