"""boto3 clients for an account, in AWS's standard credential chain, with patience in seconds instead of minutes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import boto3
from botocore import exceptions as aws
from botocore.config import Config

from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed, CredentialsMissing, PreflightFailed

HOME_REGION = "us-east-1"  # where IAM answers, and what a session without a region of its own asks
LENT_SECONDS = 1800  # how long a role's credentials are used; AWS lends them for an hour
PATIENCE = Config(connect_timeout=5, read_timeout=30, retries={"mode": "standard", "max_attempts": 3})

_NO_CREDENTIALS = (
    aws.NoCredentialsError,
    aws.PartialCredentialsError,
    aws.CredentialRetrievalError,
    aws.TokenRetrievalError,
    aws.SSOError,
    aws.InvalidConfigError,
)
_NO_NETWORK = (
    aws.EndpointConnectionError,
    aws.ConnectTimeoutError,
    aws.ReadTimeoutError,
    aws.ConnectionClosedError,
    aws.ProxyConnectionError,
    aws.SSLError,
)
_REFUSED = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
        "OptInRequired",
    }
)

Lender = tuple[str | None, str | None, int]  # profile, role, and which LENT_SECONDS they are used in
_LOCK = threading.Lock()  # a session is not safe to make clients from in several threads; the clients themselves are


def client(account: Account, service: str, region: str = HOME_REGION, endpoint: str | None = None) -> Any:
    """A client of one service in one region, for the profile that the account names (else the chain's own), in the
    role that it names. `endpoint` is another server than AWS's own."""
    lender = (account.settings.get("profile"), account.settings.get("role_arn"), int(time.monotonic() // LENT_SECONDS))
    with translated(account), _LOCK:
        return _client(lender, service, region, endpoint)


@lru_cache(maxsize=128)
def _client(lender: Lender, service: str, region: str, endpoint: str | None) -> Any:
    found: Any = _session(lender).client  # its overloads name every service
    return found(service, region_name=region, endpoint_url=endpoint, config=PATIENCE)


@lru_cache(maxsize=8)
def _session(lender: Lender) -> boto3.Session:
    """One session for all clients: it has read the service descriptions, which takes longer than most calls."""
    profile, role, _period = lender
    session = boto3.Session(profile_name=profile)
    if not role:
        return session
    sts = session.client("sts", region_name=HOME_REGION, config=PATIENCE)
    lent = sts.assume_role(RoleArn=role, RoleSessionName="trainrig")["Credentials"]
    return boto3.Session(lent["AccessKeyId"], lent["SecretAccessKey"], lent["SessionToken"])


def regions(account: Account) -> Sequence[str]:
    """The account's regions; all that are enabled when it names none."""
    if account.regions:
        return account.regions
    with translated(account):
        found = client(account, "ec2").describe_regions()["Regions"]
    return sorted(r["RegionName"] for r in found)


@contextmanager
def translated(account: Account) -> Iterator[None]:
    """Turns what botocore raises into our errors.

    Raises:
        CredentialsMissing: there are none, or AWS does not take them.
        PreflightFailed: AWS cannot be reached.
        CommandFailed: AWS refuses; the message begins with its own code, which the fault table knows.
    """
    profile = account.settings.get("profile")
    login = f"aws sso login --profile {profile}" if profile else "aws configure, or aws sso login"
    try:
        yield
    except aws.ProfileNotFound as error:
        mend = f"aws configure sso --profile {profile}, or aws configure --profile {profile}"
        raise CredentialsMissing(f"aws: {error}", hint=mend, details={"cloud": "aws"}) from error
    except _NO_CREDENTIALS as error:
        raise CredentialsMissing(f"aws: {error}", hint=login, details={"cloud": "aws"}) from error
    except _NO_NETWORK as error:
        raise PreflightFailed(f"aws: no answer: {error}", hint="check the network and any proxy") from error
    except aws.ClientError as error:
        code = error.response["Error"].get("Code", "")
        message = f"{code}: {error.response['Error'].get('Message', '')}"
        details = {"cloud": "aws", "code": code, "operation": error.operation_name}
        if code in _REFUSED:
            raise CredentialsMissing(f"aws: {message}", hint=login, details=details) from error
        raise CommandFailed(f"aws: {error.operation_name}: {message}", details=details) from error
    except aws.BotoCoreError as error:
        raise CommandFailed(f"aws: {error}", details={"cloud": "aws"}) from error
