from __future__ import annotations

import pytest

from support import rigs
from trainrig.errors import RigError, UsageError
from trainrig.render import tfvars

COMMON = tuple(tfvars.common(rigs.request()))


def test_every_name_a_resource_gets_starts_with_the_rig_id() -> None:
    request = rigs.request(identity=rigs.identity(name="Fein Tüning!"))
    rig = tfvars.tfvars(request, {}, COMMON)["rig"]
    assert rig["name"] == "Fein Tüning!"
    assert rig["id"] == "tr-fein-t-ning-abcd2345"
    assert rig["labels"]["trainrig-run-id"] == "abcd2345"
    assert rig["expires_at"] == "2026-03-02T12:00:00Z"


def test_no_price_reaches_a_root() -> None:
    dear = rigs.request(offer_changes={"price_hour_usd": None, "source": "elsewhere"})
    assert tfvars.tfvars(rigs.request(), {}, COMMON) == tfvars.tfvars(dear, {}, COMMON)


def test_wishes_are_left_out_until_a_job_has_them() -> None:
    assert "reservation" not in tfvars.tfvars(rigs.request(), {}, COMMON)
    wished = rigs.request(reservation="cr-0123", read_only_urls=("s3://data/set/",))
    values = tfvars.tfvars(wished, {}, (*COMMON, "reservation", "read_only_urls"))
    assert (values["reservation"], values["read_only_urls"]) == ("cr-0123", ["s3://data/set/"])


def test_a_wish_that_the_module_cannot_serve_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="aws has no reservation"):
        tfvars.tfvars(rigs.request(reservation="cr-0123"), {}, COMMON)


def test_an_input_that_the_module_does_not_declare_is_our_bug() -> None:
    with pytest.raises(RigError, match="declares no variable warp_drive"):
        tfvars.tfvars(rigs.request(), {"warp_drive": True}, COMMON)
