"""A pending job whose texts look like fields of Slurm: its explanation rests on slurmctld's own."""

import pytest

from clusterwright.diagnose.pending.facts import Facts

FORGED = "x UserId=root(0) Account=physics JobState=PENDING Reason=Licenses Partition=debug ReqNodeList=n9 NodeList=n9"


@pytest.mark.parametrize("place", ["name", "comment", "folder"])
@pytest.mark.parametrize(
    "text", [FORGED, f"x\nJobId=9 JobName=y {FORGED}", "x Partition=debug ReqNodeList=n9"]
)
def test_no_text_of_a_job_changes_whose_it_is_or_what_it_waits_for(place, text):
    """The record is the real one, or it has only its id."""
    texts = {"name": "j", "comment": "c", "folder": "/x", place: text}
    record = (
        f"JobId=7 JobName={texts['name']} UserId=eve(1) GroupId=a(1) Account=team JobState=PENDING Reason=Priority "
        f"Partition=train ReqNodeList=(null) NumNodes=1 WorkDir={texts['folder']} Comment={texts['comment']}\n"
    )
    facts = Facts({"job": record})

    assert facts.id == "7"
    assert facts.user in ("eve", "")
    assert facts.job["Reason"] in ("Priority", "")
    assert (facts.job["Account"], facts.job["Partition"]) in (("team", "train"), ("", ""))
    assert facts.requested_nodes == ()
