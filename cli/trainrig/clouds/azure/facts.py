"""What is true of Azure without asking it. Error codes: Azure Resource Manager and the compute allocator."""

from __future__ import annotations

from decimal import Decimal

from trainrig.clouds.base import CloudFacts
from trainrig.clouds.common_faults import COMMON
from trainrig.model.fault import FaultClass, rule
from trainrig.model.offer import Market

FAULTS = (
    rule(
        r"(Zonal)?AllocationFailed|Overconstrained(Zonal)?AllocationRequest|AllocationTimeout|OperationPreempted|"
        r"do not have sufficient capacity|has been evicted|was evicted|EvictedVM|CapacityReservationOverallocat|"
        r"SpotCapacity",
        FaultClass.CAPACITY,
        "Azure has no free machine of this size there",
    ),
    rule(
        r"SkuNotAvailable|Capacity Restrictions|NotAvailableForSubscription|is currently not available in location|"
        r"size .* is not (available|supported) in (the )?(location|zone)|AvailabilityZoneNotSupported",
        FaultClass.CAPACITY,
        "this location does not offer the size to this subscription",
    ),
    rule(
        r"exceeding approved (?P<family>.+?) [Qq]uota",
        FaultClass.QUOTA,
        "the subscription's {family} quota is used up",
    ),
    rule(
        r"exceeding quota limits? of|QuotaExceeded|CoresQuota|\w+CountLimitReached|SubscriptionLimitReached|"
        r"ResourceCountExceedsLimit|ResourceGroupQuotaExceeded",
        FaultClass.QUOTA,
        "a quota of the subscription is used up",
    ),
    rule(
        r"PrincipalNotFound|ReferencedResourceNotProvisioned|RetryableError|AnotherOperationInProgress|"
        r"ResourceGroupNotFound|ParentResourceNotFound|NetworkingInternalOperationError",
        FaultClass.EVENTUAL,
        "Azure does not see yet what was created a moment ago",
    ),
    rule(
        r"TooManyRequests|InternalServerError|InternalExecutionError|InternalOperationError|ServiceUnavailable|"
        r"ServerTimeout|GatewayTimeout|unexpected status 50[0-9]|StatusCode=50[0-9]|unexpected status 429",
        FaultClass.EVENTUAL,
        "Azure asks to try again later",
    ),
    rule(
        r"InUse\w*CannotBeDeleted|NicInUse|NicReservedForAnotherVm|PublicIPAddressCannotBeDeleted|"
        r"CannotDeleteResource|ResourceGroupBeingDeleted|AttachDiskWhileBeingDetached|DiskInUse|"
        r"NetworkSecurityGroupInUse|Conflict.*being (deleted|used)|deletion of .*Resource Group.*still contains",
        FaultClass.DEPENDENCY,
        "something still uses it",
    ),
    rule(  # terraform-provider-azurerm#753: a failed allocation leaves a VM that the state does not know
        r"to be managed via Terraform this resource needs to be imported|already exists",
        FaultClass.DEPENDENCY,
        "a resource of an earlier attempt is still there",
    ),
    rule(
        r"does not have authorization to perform action '(?P<permission>[\w./]+)'",
        FaultClass.AUTH,
        "the credentials lack {permission}",
    ),
    rule(
        r"MissingSubscriptionRegistration|not registered to use namespace '(?P<namespace>[\w.]+)'",
        FaultClass.AUTH,
        "the subscription is not registered for a resource provider that the rig needs (az provider register)",
    ),
    rule(
        r"RequestDisallowedByPolicy|DisallowedProvider|ScopeLocked|ReadOnlyDisabledSubscription|"
        r"SubscriptionNotRegistered|DisallowedLocation|MarketplacePurchaseEligibilityFailed|"
        r"ResourcePurchaseValidationFailed",
        FaultClass.AUTH,
        "a policy, a lock or the state of the subscription forbids it",
    ),
    rule(
        r"AuthorizationFailed|AuthenticationFailed|InvalidAuthenticationToken|ExpiredAuthenticationToken|"
        r"AADSTS\d+|SubscriptionNotFound|InvalidSubscriptionId|unable to build authorizer|az login|"
        r"unexpected status 40[13]|StatusCode=40[13]|subscription ID could not be determined|Forbidden",
        FaultClass.AUTH,
        "Azure does not accept the credentials, or they lack a permission",
    ),
    rule(
        r"InvalidParameter|InvalidRequestContent|InvalidRequestFormat|InvalidTemplate|BadRequest|PropertyChangeNotAllowed|"
        r"OperationNotAllowed|PlatformImageNotFound|ImageNotFound|InvalidResourceReference|ResourceNotFound|"
        r"LocationNotAvailableForResourceType|InvalidResourceName|VMMarketplaceInvalidInput|NotSupported|"
        r"VMSizeNotSupported|unexpected status 40[04]|StatusCode=40[04]|eviction_policy",
        FaultClass.CONFIG,
        "Azure refuses the request as it stands",
    ),
    *COMMON,
)

FACTS = CloudFacts(
    name="azure",
    title="Microsoft Azure",
    readiness="preview",
    markets=frozenset({Market.SPOT, Market.ON_DEMAND, Market.RESERVED}),
    terraform_provider="hashicorp/azurerm",
    default_ssh_user="ubuntu",
    faults=FAULTS,
    apply_deadline_seconds=1800,
    interruptible_creates=False,  # terraform-provider-azurerm#32230: SIGINT in a create orphans the machine
    preemption_notice_seconds=30,
    address_hour_usd=Decimal("0.005"),  # azure.microsoft.com/pricing/details/ip-addresses: standard static IPv4
    disk_gb_month_usd=Decimal("0.15"),  # azure.microsoft.com/pricing/details/managed-disks: premium SSD P15, 38.01/256
    python_extra="azure",
)
