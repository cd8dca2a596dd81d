from __future__ import annotations

from typing import Any

import pytest

from trainrig.errors import EnvironmentInvalid
from trainrig.model.environment import CloudPolicy, Environment, StateBackend
from trainrig.render.store import Store, stores_of


def env(**changes: Any) -> Environment:
    values: dict[str, Any] = {"name": "team", "clouds": (CloudPolicy(cloud="aws", regions=("us-west-2",)),)}
    return Environment(**{**values, **changes})


def made(**changes: Any) -> Store:
    (store,) = stores_of(env(**changes))
    return store


def test_the_checkpoint_bucket_lies_in_the_clouds_first_region() -> None:
    store = made(checkpoint_store="s3://team-ckpt/runs")
    assert (store.cloud, store.name, store.region, store.purposes) == (
        "aws",
        "team-ckpt",
        "us-west-2",
        ("checkpoints",),
    )
    values = store.tfvars(delete_data=False)
    assert values["delete_data"] is False
    assert "noncurrent_days" not in values


def test_a_store_carries_no_label_that_sweep_looks_for() -> None:
    labels = made(checkpoint_store="s3://team-ckpt/runs").labels
    assert labels["managed-by"] == "trainrig-store"
    assert "trainrig-run-id" not in labels


def test_state_keeps_its_history_longer() -> None:
    state = StateBackend(kind="s3", settings={"bucket": "team-state", "region": "us-east-1"})
    store = made(state=state)
    assert (store.region, store.purposes) == ("us-east-1", ("state",))
    assert store.tfvars(delete_data=False)["noncurrent_days"] == 365


def test_one_bucket_for_both_is_made_once() -> None:
    state = StateBackend(kind="s3", settings={"bucket": "team", "region": "us-east-1"})
    assert made(checkpoint_store="s3://team/ckpt", state=state).purposes == ("checkpoints", "state")


def test_an_azure_store_is_a_container_of_an_account() -> None:
    azure = CloudPolicy(cloud="azure", regions=("westeurope",), account={"subscription": "1234"})
    store = made(clouds=(azure,), checkpoint_store="az://teamckpt/runs/prefix")
    assert store.url == "az://teamckpt/runs"
    values = store.tfvars(delete_data=True)
    assert (values["storage_account"], values["name"]) == ("teamckpt", "runs")
    assert values["resource_group"] == "trainrig-store"
    assert values["account"] == {"subscription": "1234"}
    named = CloudPolicy(cloud="azure", regions=("westeurope",), account={"storage_resource_group": "data"})
    assert made(clouds=(named,), checkpoint_store="az://teamckpt/runs/prefix").resource_group == "data"
    assert "delete_data" not in values


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "names no bucket"),
        ({"checkpoint_store": "file:///tmp/x"}, "names no bucket"),
        ({"checkpoint_store": "gs://team"}, "in which region"),
        ({"checkpoint_store": "az://account"}, "has no container"),
        ({"state": StateBackend(kind="azurerm", settings={"container_name": "c"})}, "needs storage_account_name"),
    ],
)
def test_what_is_missing_is_said(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(EnvironmentInvalid, match=said):
        stores_of(env(**changes))


def test_the_command_line_may_say_the_region() -> None:
    (store,) = stores_of(env(checkpoint_store="gs://team"), "us-central1")
    assert store.region == "us-central1"
