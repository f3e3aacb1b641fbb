"""When ranks agree, and how soon they leave."""

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.train


def test_after_long_steps_ranks_leave_at_once(train):
    """A signal in step 3, of 1.1 s each: the ranks leave after it, and not a step or two later."""
    stopped = train(script="evaluating", TOY_STEP_S=1.1, TOY_SIGNAL="1:3", TOY_UNTIL=30)

    assert stopped.codes == [0, 0], stopped.log
    assert stopped.events("stopped")[0]["step"] == 3
    assert stopped.checkpoints()[-1] == "step-00000003"
