"""Faults that no one cloud owns, of the network and of Terraform itself: every fault table ends with these."""

from __future__ import annotations

from trainrig.model.fault import FaultClass, rule

COMMON = (
    rule(
        r"connection reset by peer|i/o timeout|TLS handshake timeout|unexpected EOF|"
        r"context deadline exceeded \(Client\.Timeout|temporary failure in name resolution|no such host|"
        r"connection refused|network is unreachable",
        FaultClass.EVENTUAL,
        "the network between here and the cloud failed",
    ),
    rule(
        r"Unsupported argument|Unsupported block type|Missing required argument|Invalid value for variable|"
        r"Incorrect attribute value type",
        FaultClass.CONFIG,
        "the rendered Terraform is wrong for this provider version",
    ),
)
