"""Deep Learning AMIs: the SSM parameter names the newest, its name is the same in every region, its id is not."""

from __future__ import annotations

import re
from typing import Any

from botocore.exceptions import ClientError

from trainrig.clouds.aws.session import client, translated
from trainrig.clouds.base import Account, MachineImage

PER_REGION = True
PARAMETER = "/aws/service/deeplearning/ami/{arch}/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
_DRIVER = re.compile(r"driver[^0-9]{0,12}(\d{3}\.[\d.]*\d)", re.IGNORECASE)
_CUDA = re.compile(r"cuda[^0-9]{0,12}(\d{2}\.\d)", re.IGNORECASE)


def newest(account: Account, region: str, arch: str) -> MachineImage | None:
    with translated(account):
        try:
            found = client(account, "ssm", region).get_parameter(Name=PARAMETER.format(arch=arch))
        except ClientError as error:
            if error.response["Error"].get("Code") == "ParameterNotFound":
                return None
            raise
        return _described(account, region, ImageIds=[found["Parameter"]["Value"]])


def find(account: Account, region: str, name: str) -> MachineImage | None:
    with translated(account):
        return _described(
            account, region, Owners=["amazon"], IncludeDeprecated=True, Filters=[{"Name": "name", "Values": [name]}]
        )


def _described(account: Account, region: str, **which: Any) -> MachineImage | None:
    images = client(account, "ec2", region).describe_images(**which)["Images"]
    if not images:
        return None
    image = max(images, key=lambda i: i.get("CreationDate", ""))
    said = image.get("Description", "")
    driver, cuda = _DRIVER.search(said), _CUDA.search(said)
    return MachineImage(
        name=image["Name"],
        id=image["ImageId"],
        driver=driver[1] if driver else None,
        cuda=cuda[1] if cuda else None,
    )
