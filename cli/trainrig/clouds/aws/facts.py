"""What is true of AWS without asking it. Error codes: the EC2 API reference and the reports named beside the rules."""

from __future__ import annotations

from decimal import Decimal

from trainrig.clouds.base import CloudFacts
from trainrig.clouds.common_faults import COMMON
from trainrig.model.fault import FaultClass, rule
from trainrig.model.offer import Market

FAULTS = (
    rule(
        r"Insufficient(Instance|Host|ReservedInstance|Address)?Capacity|UnfulfillableCapacity|ReservationCapacityExceeded",
        FaultClass.CAPACITY,
        "AWS has no free machine of this type there",
    ),
    rule(
        r"Server\.SpotInstance(Termination|Shutdown)|no-capacity|capacity-not-available|marked-for-termination",
        FaultClass.CAPACITY,
        "AWS took the spot machine back while it started",
    ),
    rule(  # terraform-provider-aws#42890: the provider itself retries this one for an hour
        r"InsufficientVolumeCapacity",
        FaultClass.CAPACITY,
        "AWS has no free disk space of this kind there",
    ),
    rule(
        r"SpotMaxPriceTooLow|[Mm]ax(imum)? [Pp]rice (is )?too low|price-too-low",
        FaultClass.CAPACITY,
        "the spot price is above the maximum price",
    ),
    rule(
        r"not supported in your requested Availability Zone|"
        r"requested configuration is currently not supported.*Availability Zone|"
        r"instance type .* is not (available|offered) in",
        FaultClass.CAPACITY,
        "this zone does not have the instance type",
    ),
    rule(  # a Local Zone: others can still be had
        r"Subnets can currently only be created in the following availability zones|not opted in",
        FaultClass.CAPACITY,
        "the account has not opted in to this zone (EC2, Zones)",
    ),
    rule(
        r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|InstanceLimitExceeded|MaxSpotFleetRequestCountExceeded",
        FaultClass.QUOTA,
        "the account's vCPU quota for this family is used up (Service Quotas, EC2)",
    ),
    rule(
        r"(?P<what>Address|Vpc|SecurityGroup|SecurityGroups?PerInterface|RulesPerSecurityGroup|Volume|InternetGateway|"
        r"NetworkInterface|Subnet|RouteTable|PlacementGroup|LaunchTemplate|InstanceProfile|Role)s?LimitExceeded|"
        r"\bLimitExceeded(Exception)?\b|ServiceQuotaExceededException|ResourceLimitExceeded",
        FaultClass.QUOTA,
        "a count quota of the account is used up",
    ),
    rule(
        r"Invalid IAM Instance Profile|InvalidInstanceID\.NotFound|InvalidNetworkInterfaceID\.NotFound|"
        r"InvalidRouteTableID\.NotFound|InvalidInternetGatewayID\.NotFound|InvalidGroup\.NotFound|"
        r"InvalidAllocationID\.NotFound|InvalidAttachmentID\.NotFound|couldn't find resource|"
        r"MalformedPolicyDocument: Invalid principal",
        FaultClass.EVENTUAL,
        "AWS does not see yet what was created a moment ago",
    ),
    rule(
        r"RequestLimitExceeded|Throttling(Exception)?|SlowDown|(Server\.)?InternalError\b|InternalFailure|"
        r"ServiceUnavailable|EC2ThrottledException|StatusCode: 50[0-9]",
        FaultClass.EVENTUAL,
        "AWS asks to try again later",
    ),
    rule(
        r"DependencyViolation|DeleteConflict|InvalidGroup\.InUse|InvalidPlacementGroup\.InUse|VolumeInUse|"
        r"InvalidNetworkInterface\.InUse|InvalidIPAddress\.InUse|InvalidKeyPair\.InUse|ResourceInUse(Exception)?",
        FaultClass.DEPENDENCY,
        "something still uses it",
    ),
    rule(
        r"InvalidGroup\.Duplicate|InvalidKeyPair\.Duplicate|InvalidPlacementGroup\.Duplicate|EntityAlreadyExists|"
        r"InvalidLaunchTemplateName\.AlreadyExistsException",
        FaultClass.DEPENDENCY,
        "a resource of an earlier attempt is still there",
    ),
    rule(
        r"not authorized to perform:? (?P<permission>[a-z0-9-]+:\w+)",
        FaultClass.AUTH,
        "the credentials lack {permission}",
    ),
    rule(
        r"ServiceLinkedRoleCreationNotPermitted",
        FaultClass.AUTH,
        "the credentials lack iam:CreateServiceLinkedRole, which the first spot machine of an account takes "
        "(aws iam create-service-linked-role --aws-service-name spot.amazonaws.com)",
    ),
    rule(
        # the provider names the call: "operation error EC2: RunInstances, ... api error UnauthorizedOperation"
        r"operation error EC2: (?P<call>\w+),[\s\S]*UnauthorizedOperation",
        FaultClass.AUTH,
        "the credentials lack ec2:{call}",
    ),
    rule(
        r"ExpiredToken(Exception)?|RequestExpired|"
        r"token (included in the request )?(is|has) expired|SSO session .*expired",
        FaultClass.AUTH,
        "the credentials have expired",
    ),
    rule(
        r"UnauthorizedOperation|AccessDenied(Exception)?|AuthFailure|InvalidClientTokenId|SignatureDoesNotMatch|"
        r"UnrecognizedClientException|NoCredentialProviders|No valid credential sources? found|"
        r"failed to refresh cached credentials|[Nn]o EC2 IMDS role found|IncompleteSignature|"
        r"MissingAuthenticationToken",
        FaultClass.AUTH,
        "AWS does not accept the credentials, or they lack a permission",
    ),
    rule(
        r"OptInRequired|PendingVerification|\bBlocked\b|AccountDisabled",
        FaultClass.AUTH,
        "the account is not enabled for this (opt-in, verification, or blocked)",
    ),
    rule(
        r"InvalidParameter|InvalidAMIID|InvalidInstanceType|InvalidSubnet|InvalidVpcID|InvalidKeyPair\.NotFound|"
        r"InvalidSnapshot|InvalidBlockDeviceMapping|InvalidCapacityReservation|InvalidLaunchTemplate|MissingParameter|"
        r"ValidationError|MalformedPolicyDocument|IdempotentParameterMismatch|UnsupportedOperation|\bUnsupported\b|"
        r"InvalidCharacter|InvalidOptionForVirtualization|InvalidPlacementGroup|InvalidRequest|UnknownParameter|"
        r"InsufficientFreeAddressesInSubnet|InvalidUserData|InvalidZone|InvalidCidr|VPCIdNotSpecified|"
        r"Your query returned no results",
        FaultClass.CONFIG,
        "AWS refuses the request as it stands",
    ),
    *COMMON,
)

FACTS = CloudFacts(
    name="aws",
    title="Amazon Web Services",
    readiness="preview",
    markets=frozenset({Market.SPOT, Market.ON_DEMAND, Market.RESERVED}),
    terraform_provider="hashicorp/aws",
    default_ssh_user="ubuntu",
    faults=FAULTS,
    apply_deadline_seconds=600,
    interruptible_creates=True,
    preemption_notice_seconds=120,
    address_hour_usd=Decimal("0.005"),  # aws.amazon.com/vpc/pricing: public IPv4 address, since 2024-02-01
    disk_gb_month_usd=Decimal("0.08"),  # aws.amazon.com/ebs/pricing: gp3, us-east-1
    python_extra="aws",
)
