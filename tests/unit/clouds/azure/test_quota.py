from __future__ import annotations

from decimal import Decimal

from support.loopback import Loopback
from support.offers import offer
from trainrig.clouds.azure import quota as azure_quota
from trainrig.clouds.base import Account
from trainrig.model.offer import Market, Offer


def azure_offer(size: str, market: Market = Market.ON_DEMAND, vcpus: float = 24) -> Offer:
    return offer(cloud="azure", region="eastus", instance_type=size, market=market, vcpus=vcpus)


def test_on_demand_counts_in_family_and_region_and_spot_in_its_own() -> None:
    on_demand = azure_quota.needed(azure_offer("Standard_NC24ads_A100_v4"), 2)
    assert [(n.code, n.amount) for n in on_demand] == [
        ("StandardNCADSA100v4Family", Decimal(48)),
        ("cores", Decimal(48)),
    ]
    spot = azure_quota.needed(azure_offer("Standard_NC24ads_A100_v4", Market.SPOT), 2)
    assert [(n.code, n.amount) for n in spot] == [("lowPriorityCores", Decimal(48))]


def usage(name: str, limit: int, used: int) -> dict[str, object]:
    return {"name": {"value": name, "localizedValue": name}, "limit": limit, "currentValue": used, "unit": "Count"}


def test_limits_and_use_are_read_whatever_the_spelling(azure: Loopback, account: Account) -> None:
    azure.route(
        "GET",
        r"/subscriptions/[\w-]+/providers/Microsoft.Compute/locations/eastus/usages",
        {
            "value": [
                usage("cores", 350, 10),
                usage("lowPriorityCores", 100, 0),
                usage("standardNCADSA100v4Family", 48, 24),
                usage("StandardNCASv3_T4Family", 16, 0),
            ]
        },
    )
    offers = [
        azure_offer("Standard_NC24ads_A100_v4"),
        azure_offer("Standard_NC24ads_A100_v4", Market.SPOT),
        azure_offer("Standard_NC4as_T4_v3", vcpus=4),
        azure_offer("Standard_ND96isr_H100_v5", vcpus=96),
    ]
    found = {q.code: (q.limit, q.used) for q in azure_quota.quotas(account, offers)}
    assert found == {
        "cores": (Decimal(350), Decimal(10)),
        "lowPriorityCores": (Decimal(100), Decimal(0)),
        "StandardNCADSA100v4Family": (Decimal(48), Decimal(24)),
        "Standard NCASv3_T4 Family": (Decimal(16), Decimal(0)),
        "standardNDSH100v5Family": (None, None),
    }
