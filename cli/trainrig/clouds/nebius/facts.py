"""What is true of Nebius without asking it. Error details: nebius.common.v1.ServiceError of github.com/nebius/api."""

from __future__ import annotations

from decimal import Decimal

from trainrig.clouds.base import CloudFacts
from trainrig.clouds.common_faults import COMMON
from trainrig.model.fault import FaultClass, rule
from trainrig.model.offer import Market

FAULTS = (
    rule(r"NotEnoughResources|not enough resources", FaultClass.CAPACITY, "Nebius has no free machine of this preset"),
    rule(r"QuotaFailure|quota .* exceeded", FaultClass.QUOTA, "the tenant's quota is used up"),
    rule(r"TooManyRequests|code = (Unavailable|Aborted)", FaultClass.EVENTUAL, "Nebius asks to try again later"),
    rule(r"ResourceConflict|is in use|FailedPrecondition", FaultClass.DEPENDENCY, "something still uses it"),
    rule(
        r"code = (Unauthenticated|PermissionDenied)|no credentials",
        FaultClass.AUTH,
        "Nebius does not accept the caller",
    ),
    rule(
        r"BadRequest|code = (InvalidArgument|NotFound|AlreadyExists)", FaultClass.CONFIG, "Nebius refuses the request"
    ),
    *COMMON,
)

FACTS = CloudFacts(
    name="nebius",
    title="Nebius AI Cloud",
    readiness="preview",
    markets=frozenset({Market.SPOT, Market.ON_DEMAND, Market.RESERVED}),
    terraform_provider="nebius/nebius",
    default_ssh_user="ubuntu",
    faults=FAULTS,
    apply_deadline_seconds=1800,
    interruptible_creates=True,
    preemption_notice_seconds=60,  # docs.nebius.com/compute/virtual-machines/preemptible
    address_hour_usd=Decimal("0.004"),  # nebius.com/prices: a public IPv4 address
    disk_gb_month_usd=Decimal("0.071"),  # nebius.com/prices: network SSD
)
