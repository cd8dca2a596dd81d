"""`trainrig check` for AWS: who we are, what we may do, and how many GPUs the account may hold."""

from __future__ import annotations

from collections.abc import Iterator

from trainrig.clouds import checking
from trainrig.clouds.aws import simulate
from trainrig.clouds.aws.permissions import CHANGE, IDENTITY, LOOK
from trainrig.clouds.aws.quota import quotas
from trainrig.clouds.aws.session import HOME_REGION, client, translated
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed
from trainrig.model.offer import Market
from trainrig.model.readiness import Check

FAMILIES = (("g6.xlarge", "L4"), ("p4d.24xlarge", "A100"), ("p5.48xlarge", "H100"))
POLICY = "attach the policy of docs/clouds.md#aws"


def checks(account: Account) -> Iterator[Check]:
    """Stops at the identity when there is none: the rest would say the same."""
    arn = ""

    def identity() -> Check:
        nonlocal arn
        with translated(account):
            me = client(account, "sts").get_caller_identity()
        wanted = account.settings.get("account_id")
        if wanted and wanted != me["Account"]:
            return Check(
                name="identity",
                status="fail",
                detail=f"these credentials are of account {me['Account']}, the environment wants {wanted}",
                mend="set account.profile or AWS_PROFILE to a profile of that account",
            )
        arn = me["Arn"]
        return Check(name="identity", status="pass", detail=arn)

    first = checking.asked("identity", identity)
    yield first
    if first.status == "pass":
        yield checking.asked("permissions", lambda: permissions(account, arn))
        yield checking.asked("GPU quota", lambda: gpu_quota(account))


def permissions(account: Account, arn: str) -> Check:
    source = simulate.principal(arn)
    if source is None:
        return Check(
            name="permissions", status="skip", detail="cannot be simulated for the root user or a federated one"
        )
    try:
        missing = denied(account, source)
    except CommandFailed as error:
        if error.details.get("code") != "AccessDenied":
            raise
        return Check(
            name="permissions",
            status="skip",
            detail="cannot be asked: iam:SimulatePrincipalPolicy is missing; apply names what it lacks",
            mend=POLICY,
        )
    return checking.permissions(missing, len((*LOOK, *CHANGE, *IDENTITY)), POLICY)


def denied(account: Account, source: str) -> list[str]:
    """Rights on roles and profiles are asked for where they are needed: a policy that limits them to /trainrig/, as it
    should, denies them everywhere else."""
    partition, number = source.split(":")[1], source.split(":")[4]
    home = f"arn:{partition}:iam::{number}"
    profile = tuple(n for n in IDENTITY if n.endswith("InstanceProfile"))
    role = tuple(n for n in IDENTITY if n not in profile)
    with translated(account):
        return simulate.denied(
            account,
            source,
            [
                ((*LOOK, *CHANGE), "*"),
                (role, f"{home}:role/trainrig/tr-check"),
                (profile, f"{home}:instance-profile/trainrig/tr-check"),
            ],
        )


def gpu_quota(account: Account) -> Check:
    probes = [
        checking.probe("aws", region, instance_type, gpu, market)
        for region in account.regions or (HOME_REGION,)
        for instance_type, gpu in FAMILIES
        for market in (Market.ON_DEMAND, Market.SPOT)
    ]
    region = probes[0].region
    return checking.gpu_quota(
        list(quotas(account, probes)),
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-417A185B "
        f"--desired-value 96 --region {region}",
    )
