"""Whether an account may hold what a rig takes: the amount needed against the limit minus what is in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from trainrig.model.offer import Offer
from trainrig.model.placement import RejectionCode
from trainrig.model.quota import Quota, QuotaNeed

Needed = Callable[[Offer, int], Sequence[QuotaNeed]]


@dataclass(frozen=True, kw_only=True, slots=True)
class QuotaBook:
    """What is known of the accounts' quotas. `needed` is by cloud: a cloud that is not there has no quotas."""

    limits: Mapping[tuple[str, str, str, str], Quota] = field(default_factory=dict)  # by (cloud, account, region, code)
    needed: Mapping[str, Needed] = field(default_factory=dict)

    @classmethod
    def of(cls, quotas: Sequence[Quota], needed: Mapping[str, Needed]) -> QuotaBook:
        return cls(limits={(q.cloud, q.account, q.region, q.code): q for q in quotas}, needed=needed)

    def verdict(self, offer: Offer, nodes: int, account: str = "") -> tuple[RejectionCode | None, str]:
        """QUOTA with the arithmetic when it is too small, QUOTA_UNKNOWN with the code when nobody knows, else None."""
        unknown = ""
        for need in self.needed[offer.cloud](offer, nodes) if offer.cloud in self.needed else ():
            known = self.limits.get((offer.cloud, account, need.region, need.code))
            if known is None or known.limit is None:
                unknown = unknown or f"quota {need.code} in {need.region} is not known; {need.amount} needed"
                continue
            used = known.used or 0
            if need.amount > known.limit - used:
                in_use = "use unknown" if known.used is None else f"{known.used} in use"
                return RejectionCode.QUOTA, (
                    f"needs {need.amount} {known.unit} of {need.code} in {need.region}: "
                    f"the limit is {known.limit}, {in_use}"
                )
            if known.used is None:
                unknown = unknown or f"quota {need.code} in {need.region} is {known.limit}; its use is not known"
        return (RejectionCode.QUOTA_UNKNOWN, unknown) if unknown else (None, "")
