"""Weights and computations that are silently wrong, in trainings of real ranks."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import codes
from clusterwright.runtime.services import verify

pytestmark = pytest.mark.train


def test_of_three_ranks_the_one_with_a_flipped_bit_is_named(train):
    """One bit of one weight after step 4, which is to be saved: the look before that ends the training."""
    found = train(ranks=3, script="guarded", TOY_FLIP="2:4", TOY_VERIFY=3, TOY_COMPARE="0")

    assert found.codes == [codes.MACHINE] * 3, found.log
    (event,) = found.events("corrupt")
    assert (event["step"], event["quantity"], event["ranks"], event["sure"]) == (4, "weights", [2], True)
    assert len(event["hosts"]) == 1
    assert "weights of rank 2" in found.log


def test_of_two_ranks_both_are_named(train):
    """Nobody can say which one is wrong; and what differs is not saved."""
    found = train(script="guarded", TOY_FLIP="1:3", TOY_VERIFY=100, CLUSTERWRIGHT_CHECKPOINT_EVERY="steps:2")

    assert found.codes == [codes.MACHINE] * 2, found.log
    (event,) = found.events("corrupt")
    assert (event["step"], event["ranks"], event["sure"]) == (4, [0, 1], False)
    assert found.checkpoints() == ["step-00000002"]


def test_a_rank_that_computes_wrong_is_named(train):
    """The same microbatch on all ranks, its gradients a ten-thousandth off on one."""
    found = train(ranks=3, script="guarded", TOY_WRONG="1:4", TOY_VERIFY=4)

    assert found.codes == [codes.MACHINE] * 3, found.log
    assert [(e["step"], e["quantity"], e["ranks"]) for e in found.events("corrupt")] == [
        (4, "gradients", [1])
    ]


def test_looking_changes_nothing(train):
    """Losses and weights are, bit for bit, those of a training that does not look: dropout, batch norm and all."""
    plain = train(script="guarded", name="plain")
    looked = train(script="guarded", name="looked", TOY_VERIFY=2)

    assert plain.codes == looked.codes == [0, 0], looked.log
    assert looked.losses() == plain.losses()
    assert not looked.events("corrupt")


def test_a_model_that_never_computes_the_same_twice_is_left_in_peace(train):
    """That is said once; its weights are compared all the same."""
    found = train(script="guarded", TOY_UNSTEADY=1, TOY_VERIFY=2)

    assert found.codes == [0, 0], found.log
    assert found.log.count("verify cannot compare") == 1


def test_continue_writes_it_down_and_goes_on(train):
    """Each look says so."""
    found = train(script="guarded", TOY_FLIP="1:3", TOY_VERIFY=4, TOY_ON_CORRUPTION="continue")

    assert found.codes == [0, 0], found.log
    assert {event["step"] for event in found.events("corrupt")} == {4, 8}


def test_another_policy_is_refused():
    """And the right ones are named."""
    with pytest.raises(ValueError, match="on_corruption=drain: must be one of stop, continue"):
        verify.Verify(None, None, 1, "drain")
