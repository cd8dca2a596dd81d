"""What is true of Google Cloud without asking it. Error codes: the Compute Engine API and its operation errors."""

from __future__ import annotations

from decimal import Decimal

from trainrig.clouds.base import CloudFacts
from trainrig.clouds.common_faults import COMMON
from trainrig.model.fault import FaultClass, rule
from trainrig.model.offer import Market

FAULTS = (
    rule(  # before quota: a stock-out is sometimes wrapped in a quota error, and then carries zonesAvailable
        r"ZONE_RESOURCE_POOL_EXHAUSTED(_WITH_DETAILS)?|STOCKOUT|resource_availability|zonesAvailable|"
        r"does not have enough resources available|[Rr]esource pool exhausted|VM_MIN_COUNT_NOT_REACHED|was preempted|"
        r"accelerator\(s\) is currently unavailable in the|UNSUPPORTED_CAPACITY|RESERVATION_CAPACITY_EXCEEDED|"
        r"[Rr]eservation .* does not have (available|enough)",
        FaultClass.CAPACITY,
        "Google has no free machine of this type there",
    ),
    rule(
        r"[Mm]achine type with name '[^']*' does not exist in zone|"
        r"acceleratorTypes/[\w-]+' was not found|machineTypes/[\w-]+' was not found",
        FaultClass.CAPACITY,
        "this zone does not have the machine type or the GPU",
    ),
    rule(
        r"Quota '?(?P<metric>[A-Z0-9_-]+)'? exceeded",
        FaultClass.QUOTA,
        "the project's quota {metric} is used up",
    ),
    rule(
        r"QUOTA_EXCEEDED|quotaExceeded|QuotaFailure|(?<!RATE_)LIMIT_EXCEEDED",
        FaultClass.QUOTA,
        "a quota of the project is used up",
    ),
    rule(
        r"resourceNotReady|RESOURCE_NOT_READY|is not ready|"
        r"[Ss]ervice account .* does not exist|Unknown service account|Policy .* ETag|concurrent policy changes",
        FaultClass.EVENTUAL,
        "Google does not see yet what was created a moment ago",
    ),
    rule(
        r"rateLimitExceeded|RATE_LIMIT_EXCEEDED|backendError|internalError|INTERNAL_ERROR|Error 50[0-9]|Error 429|"
        r"operationInProgress",
        FaultClass.EVENTUAL,
        "Google asks to try again later",
    ),
    rule(
        r"resourceInUseByAnotherResource|RESOURCE_IN_USE_BY_ANOTHER_RESOURCE|is already being used by|resourceInUse\b",
        FaultClass.DEPENDENCY,
        "something still uses it",
    ),
    rule(
        r"Error 409: .*already ?[Ee]xists|alreadyExists|ALREADY_EXISTS",
        FaultClass.DEPENDENCY,
        "a resource of an earlier attempt is still there",
    ),
    rule(
        r"Required '(?P<permission>[\w.]+)' permission|[Pp]ermission '(?P<other>[\w.]+)' denied",
        FaultClass.AUTH,
        "the credentials lack {permission}{other}",
    ),
    rule(
        r"does not have access to service account|iam\.serviceAccounts\.actAs",
        FaultClass.AUTH,
        "the credentials lack iam.serviceAccounts.actAs",
    ),
    rule(
        r"accessNotConfigured|SERVICE_DISABLED|API has not been used in project|is disabled\. Enable it by visiting",
        FaultClass.AUTH,
        "an API that the rig needs is not enabled in the project",
    ),
    rule(
        r"BILLING_DISABLED|billing account .* (is )?(disabled|closed)|[Bb]illing must be enabled",
        FaultClass.AUTH,
        "the project has no billing",
    ),
    rule(
        r"[Cc]onstraint constraints/[\w./]+ violated|conditionNotMet.*constraints/|orgpolicy",
        FaultClass.AUTH,
        "an organisation policy forbids it",
    ),
    rule(
        r"[Cc]ould not find default credentials|default credentials were not found|invalid_grant|"
        r"[Rr]eauthentication failed|Error 401|Error 403|UNAUTHENTICATED|PERMISSION_DENIED|forbidden",
        FaultClass.AUTH,
        "Google does not accept the credentials, or they lack a permission",
    ),
    rule(
        r"Error 400|Error 404|Error 412|INVALID_ARGUMENT|invalid value for field|Invalid value for field|"
        r"do not support live migration|badRequest|INVALID_USAGE|INVALID_FIELD_VALUE|UNSUPPORTED_OPERATION|"
        r"notFound|RESOURCE_NOT_FOUND|CONDITION_NOT_MET",
        FaultClass.CONFIG,
        "Google refuses the request as it stands",
    ),
    *COMMON,
)

_ZONE = r"[a-z]+-[a-z]+\d+-[a-z]"

FACTS = CloudFacts(
    name="gcp",
    title="Google Cloud",
    readiness="preview",
    markets=frozenset({Market.SPOT, Market.ON_DEMAND, Market.RESERVED}),
    terraform_provider="hashicorp/google",
    default_ssh_user="ubuntu",
    faults=FAULTS,
    apply_deadline_seconds=600,
    # "zonesAvailable": "us-central1-a,us-central1-f", and the same in words (kubernetes/k8s.io#9834)
    zones_named=rf"(zonesAvailable|trying your request in the)\W+(?P<zones>{_ZONE}(\W+{_ZONE})*)",
    interruptible_creates=True,
    preemption_notice_seconds=30,
    address_hour_usd=Decimal("0.005"),  # cloud.google.com/vpc/network-pricing: external IP of a standard VM
    disk_gb_month_usd=Decimal("0.10"),  # cloud.google.com/compute/disks-image-pricing: pd-balanced, us-central1
    lease_extendable=False,  # max_run_duration: another value would make the machine anew
    python_extra="gcp",
)
