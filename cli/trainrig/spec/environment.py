"""An environment file: which clouds and accounts a team may use, for how much, and what its jobs inherit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from trainrig.catalog.normalise import canonical
from trainrig.errors import EnvironmentInvalid, Problem, SpecInvalid
from trainrig.model.environment import CloudPolicy, Environment, StateBackend
from trainrig.model.job import Pins
from trainrig.model.offer import Market
from trainrig.spec.build import build
from trainrig.spec.compose import compose, invalid, without_lines
from trainrig.spec.environment_schema import ACCOUNTS, CLOUD_POLICY, ENVIRONMENT, ONE_ACCOUNT
from trainrig.spec.forms import LABEL_NAME, NAME, SETTING
from trainrig.spec.load import default_name
from trainrig.spec.nodes import Map, Node, Scalar, Seq, kind, position, problem, to_plain
from trainrig.spec.overlay import overlay
from trainrig.spec.scalars import is_null
from trainrig.spec.tables import Values, map_of, take

# What a secret looks like when it lies in a file: key ids of clouds, private keys, tokens of well-known services.
_SECRET: Final = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY|\bya29\.[\w-]{20,}|\bgh[opsu]_\w{30,}|\bhf_\w{30,}"
    r"|\bAccountKey=|\bsv=\d{4}-\d\d-\d\d&|\bxox[bap]-\w+|\"private_key\""
)
_SECRET_KEY: Final = re.compile(
    r"(?:^|_)(?:secret|password|passwd|token|access_key|private_key|api_key|sas)(?:_|$)", re.IGNORECASE
)
_REFERENCE: Final = re.compile(r"(?:env|file):")


def load_environment(text: str, file: str) -> Environment:
    """Raises EnvironmentInvalid, with all problems of the file."""
    try:
        return _load(text, file)
    except EnvironmentInvalid:
        raise
    except SpecInvalid as error:
        raise EnvironmentInvalid(error.message, problems=error.problems, hint=error.hint) from None


def _load(text: str, file: str) -> Environment:
    documents = compose(text, file)
    if len(documents) != 1 or not isinstance(documents[0], Map):
        found = "nothing" if not documents else kind(documents[0]) if len(documents) == 1 else "several documents"
        raise EnvironmentInvalid(f"{file}: an environment is one mapping, not {found}", hint="clouds:\n  local: {}")
    root = documents[0]
    secrets = list(_secrets(root))
    problems = list(secrets)
    values = ENVIRONMENT.read(root, problems)
    name = values.get("name", default_name(file))
    environment = _build(values, name, file, problems)
    if problems:
        raise invalid(file, without_lines(problems, {p.where.line for p in secrets if p.where}))
    return environment


def _build(values: Values, name: str, file: str, problems: list[Problem]) -> Environment:
    budget: Values | None = values.get("budget")
    lease, most = values.get("lease", 24 * 3600), values.get("max_lease", 7 * 24 * 3600)
    if lease > most:
        problems.append(problem(values.at("lease"), "`lease` is longer than `max_lease`"))
    clouds = _clouds(values, problems)
    return Environment(
        name=name,
        clouds=clouds,
        project=values.get("project", "trainrig"),
        owner=values.get("owner"),
        failover=_failover(values, clouds, problems),
        state=_state(values),
        checkpoint_store=values.get("checkpoint_store"),
        price_caps_gpu_hour_usd={canonical(gpu): cap for gpu, cap in values.get("price_caps", {}).items()},
        budget_run_usd=budget.get("run") if budget else None,
        budget_month_usd=budget.get("month") if budget else None,
        max_runs=values.get("max_runs"),
        lease_seconds=lease,
        max_lease_seconds=most,
        ssh_ingress=_cidrs(values, problems),
        required_labels=values.get("required_labels", ()),
        labels=values.get("labels", {}),
        pins=_pins(values.get("pins")),
        defaults=_defaults(values, problems),
        max_price_age_hours=values.get("max_price_age", 30 * 24 * 3600) // 3600,
        source=file,
    )


def _clouds(values: Values, problems: list[Problem]) -> tuple[CloudPolicy, ...]:
    node = values.node.get("clouds")
    if node is None:
        return ()  # the table has said that it is missing
    if not isinstance(node, Map) or not node.entries:
        problems.append(problem(node, "`clouds` is a mapping of cloud to its account", "clouds:\n  local: {}"))
        return ()
    return tuple(policy for key, value in node for policy in _policies(key.text, value, problems))


def _policies(cloud: str, node: Node, problems: list[Problem]) -> tuple[CloudPolicy, ...]:
    """One, or one for each of its `accounts`, which inherit the keys beside."""
    if isinstance(node, Scalar) and not node.text:
        return (CloudPolicy(cloud=cloud),)
    values = CLOUD_POLICY.read(node, problems)
    accounts = values.get("accounts")
    if accounts is None:
        return (_policy(cloud, "", values, problems),)
    if not isinstance(accounts, Map) or not accounts.entries:
        problems.append(problem(accounts, "`accounts` is a mapping of names to accounts", "accounts: {main: {}}"))
        return ()
    beside = replace(values.node, entries=tuple((k, v) for k, v in values.node if k.text != "accounts"))
    found = []
    for name, own in accounts:
        take(NAME, name, problems)
        if not is_null(own) and not isinstance(own, Map):
            problems.append(problem(own, f"an account is a mapping of keys, not {kind(own)}"))
            continue
        node = overlay(beside, own) if isinstance(own, Map) else beside
        mistakes: list[Problem] = []
        found.append(_policy(cloud, name.text, ONE_ACCOUNT.read(node, mistakes), mistakes))
        known = {p.where for p in problems}
        problems += [p for p in mistakes if p.where not in known]  # what they inherit is wrong once
    return tuple(found)


def _policy(cloud: str, name: str, values: Values, problems: list[Problem]) -> CloudPolicy:
    balance: Values | None = values.get("credits")
    return CloudPolicy(
        cloud=cloud,
        name=name,
        account=_account(cloud, values.get("account"), problems),
        regions=values.get("regions", ()),
        zones=values.get("zones", ()),
        markets=tuple(Market(m) for m in values.get("markets", tuple(Market))),
        max_runs=values.get("max_runs"),
        max_gpus={canonical(gpu): most for gpu, most in values.get("max_gpus", {}).items()},
        credit_limit_usd=balance.get("limit") if balance else None,
        credit_used_usd=balance.get("used", Decimal(0)) if balance else Decimal(0),
        priority=values.get("priority", 0),
        burst=balance.get("burst", "allow") if balance else "allow",
        network=values.get("network", {}),
    )


def _account(cloud: str, node: Node | None, problems: list[Problem]) -> Mapping[str, str]:
    if node is None:
        return {}
    table = ACCOUNTS.get(cloud)
    if table is None:
        return take(map_of(LABEL_NAME, SETTING), node, problems) or {}
    return {key: value for key, value in table.read(node, problems).given.items() if value is not None}


def _failover(values: Values, clouds: tuple[CloudPolicy, ...], problems: list[Problem]) -> tuple[str, ...]:
    order: tuple[str, ...] = values.get("failover", ())
    names = {c.cloud for c in clouds}
    for place in order:
        if place.split("/")[0] not in names:
            message = f"`{place}` is in `failover`, and its cloud is not in `clouds`"
            problems.append(problem(values.at("failover"), message, f"clouds: {', '.join(sorted(names))}"))
    return order


def _state(values: Values) -> StateBackend:
    given: Values | None = values.get("state")
    if given is None:
        return StateBackend()
    settings = {key: str(value) for key, value in given.given.items() if key != "backend" and value is not None}
    return StateBackend(kind=given.get("backend", "local"), settings=settings)


def _cidrs(values: Values, problems: list[Problem]) -> tuple[str, ...]:
    cidrs: tuple[str, ...] = values.get("ssh_ingress", ())
    if not cidrs:
        return ()
    import ipaddress

    for cidr in cidrs:
        try:
            network = ipaddress.ip_network(cidr)
        except ValueError:
            message = f"`{cidr}` is not a network such as 203.0.113.0/24"
            problems.append(problem(values.at("ssh_ingress"), message))
            continue
        if network.prefixlen == 0:
            message = f"`{cidr}` opens SSH to the whole internet"
            problems.append(
                problem(
                    values.at("ssh_ingress"),
                    message,
                    "name your own networks; without any, the caller's address is used",
                )
            )
    return cidrs


def _pins(given: Values | None) -> Pins:
    return Pins(driver=given.get("driver"), cuda=given.get("cuda")) if given else Pins()


def _defaults(values: Values, problems: list[Problem]) -> Mapping[str, Any]:
    """Checked like a job file, kept as data: they are merged under each job."""
    node = values.get("defaults")
    if node is None:
        return {}
    if not isinstance(node, Map):
        problems.append(problem(node, f"`defaults` is a mapping of job keys, not {kind(node)}"))
        return {}
    build(node, default_name="defaults", problems=problems, draft=True)
    plain: Mapping[str, Any] = to_plain(node)
    return plain


def _secrets(root: Map) -> Iterator[Problem]:
    """Credentials are named, never written down: an environment is committed. Their lines are not shown."""
    for key, node in _scalars(root, ""):
        where = position(node)
        if _SECRET.search(node.text):
            hint = "name a profile, a role or an identity instead"
            yield Problem(message="this looks like a secret", where=where, hint=hint)
        elif _SECRET_KEY.search(key) and not is_null(node) and not _REFERENCE.match(node.text):
            hint = f"write {key}: env:NAME, or file:PATH"
            yield Problem(message=f"`{key}` would hold a secret", where=where, hint=hint)


def _scalars(node: Node, key: str) -> Iterator[tuple[str, Scalar]]:
    match node:
        case Scalar():
            yield key, node
        case Seq():
            for item in node.items:
                yield from _scalars(item, key)
        case Map():
            for name, value in node:
                yield from _scalars(value, name.text)
