"""What the checks of AWS, Google Cloud and Azure have in common: refusals as lines, missing permissions, GPU quotas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from trainrig.errors import RigError
from trainrig.model.clock import utc_now
from trainrig.model.offer import Market, Offer
from trainrig.model.quota import Quota
from trainrig.model.readiness import Check

SHOWN = 6  # missing permissions in one line; all are in the hint's document


def asked(name: str, ask: Callable[[], Check]) -> Check:
    """The check, or the refusal of the cloud as a failed check."""
    try:
        return ask()
    except RigError as error:
        return Check(name=name, status="fail", detail=error.message, mend=error.hint)


def permissions(missing: Sequence[str], total: int, mend: str) -> Check:
    if not missing:
        return Check(name="permissions", status="pass", detail=f"all {total} that a rig needs")
    named = ", ".join(sorted(missing)[:SHOWN]) + (f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else "")
    return Check(name="permissions", status="fail", detail=f"missing: {named}", mend=mend)


def gpu_quota(quotas: Sequence[Quota], mend: str) -> Check:
    """Fails when no GPU may be had anywhere; the amounts are shown, since what is enough depends on the job."""
    known = [q for q in quotas if q.limit is not None]
    open_ones = [q for q in known if q.limit]
    if not known:
        return Check(name="GPU quota", status="skip", detail="the cloud does not say")
    if not open_ones:
        places = ", ".join(sorted({q.region for q in known}))
        return Check(name="GPU quota", status="fail", detail=f"0 for every GPU family in {places}", mend=mend)
    return Check(name="GPU quota", status="pass", detail="; ".join(map(_amount, open_ones)))


def _amount(q: Quota) -> str:
    used = "use unknown" if q.used is None else f"{q.used.normalize():f} in use"
    limit = "" if q.limit is None else f"{q.limit.normalize():f}"
    return f"{q.region} {q.code}: {limit} {q.unit}, {used}"


def probe(cloud: str, region: str, instance_type: str, gpu: str, market: Market) -> Offer:
    """A machine whose quota is asked for, whether or not it is for sale."""
    return Offer(
        cloud=cloud,
        region=region,
        zone=None,
        instance_type=instance_type,
        gpu=gpu,
        gpu_count=1,
        gpu_memory_gib=None,
        vcpus=0,
        memory_gib=0,
        market=market,
        price_hour_usd=Decimal(0),
        captured_at=utc_now(),
        source="check",
    )
