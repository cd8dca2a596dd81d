from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

from trainrig.model.job import GpuRequest, Job, ResourceOption
from trainrig.model.offer import Market
from trainrig.render.job_document import to_document


def test_a_job_becomes_plain_json_without_its_secrets() -> None:
    job = Job(
        name="finetune",
        options=(ResourceOption(gpus=(GpuRequest(count=8, name="A100"),), market=Market.SPOT),),
        secrets={"HF_TOKEN": "hf_hunter2", "A": "b"},
        env={"WANDB_API_KEY": "hunter2", "STEPS": "160"},
        run="curl https://ada:hunter2@example.com",
        budget_usd=Decimal("40.50"),
        deadline=datetime(2026, 3, 1, tzinfo=UTC),
    )
    document = to_document(job)
    assert "hunter2" not in json.dumps(document)
    assert document["secrets"] == ["A", "HF_TOKEN"]
    assert document["env"] == {"STEPS": "160", "WANDB_API_KEY": "***"}
    assert document["budget_usd"] == "40.50"
    assert document["deadline"] == "2026-03-01T00:00:00Z"
    assert document["options"][0]["market"] == "spot"
    assert document["options"][0]["gpus"][0]["name"] == "A100"
