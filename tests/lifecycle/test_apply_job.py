"""Whether a job has a rig already, and what became of it."""

from __future__ import annotations

import pytest

from support import rigs
from support.jobs import a_job
from support.stub_cloud import objects
from support.stub_rigs import ENVIRONMENT, order
from trainrig.errors import RigBusy
from trainrig.lifecycle.apply import apply
from trainrig.lifecycle.apply_job import Applied, carry_out, resumable
from trainrig.lifecycle.context import Context
from trainrig.lifecycle.run_context import RunContext
from trainrig.model.events import silent
from trainrig.model.placement import CatalogStamp, Placement

pytestmark = pytest.mark.terraform


def applied(context: Context) -> Applied:
    """The stub's order as an apply of a job that was begun before."""
    made = order()
    placement = Placement(
        job="finetune",
        catalog=CatalogStamp(digest="", captured_at=None, age_hours=None, offers=0),
        chosen=made.candidates[0],
        fallbacks=(),
        rejections=(),
    )
    run = RunContext(identity=made.identity, job=a_job(), environment=ENVIRONMENT, placement=placement, observe=silent)
    return Applied(run=run, order=made, begun=True)


def test_a_rig_that_has_lost_a_node_is_not_called_up(context: Context) -> None:
    up = carry_out(context, applied(context))
    assert carry_out(context, applied(context)) == up
    objects.delete(up.nodes[1].instance_id)
    with pytest.raises(RigBusy, match=up.nodes[1].name):
        carry_out(context, applied(context))
    assert len(objects.everything()) == 2


def test_a_name_belongs_to_one_job(context: Context) -> None:
    job = a_job(name=rigs.identity().name, digest="sha256:test")
    assert resumable(context, job) is None
    apply(context, order())
    assert resumable(context, job) == rigs.identity()
    with pytest.raises(RigBusy, match="another job"):
        resumable(context, a_job(name=job.name, digest="sha256:other"))


def test_a_run_is_not_applied(context: Context) -> None:
    context.journal.intend(rigs.identity(), details={"verb": "run"})
    with pytest.raises(RigBusy, match="is the name of a run"):
        resumable(context, a_job(name=rigs.identity().name))
