"""What the providers say when something goes wrong, in their words, for `Fault(error=...)`."""

from __future__ import annotations

STOCKOUT = {
    "aws": "creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 500, RequestID: "
    "5d1c, api error InsufficientInstanceCapacity: We currently do not have sufficient p4d.24xlarge capacity in the "
    "Availability Zone you requested (us-east-1a).",
    "google": "Error waiting for instance to create: The zone 'projects/p/zones/us-central1-a' does not have enough "
    "resources available to fulfill the request. '(resource type:compute)'., ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
    "azurerm": 'creating Linux Virtual Machine: compute.VirtualMachinesClient#CreateOrUpdate: Code="AllocationFailed" '
    'Message="Allocation failed. We do not have sufficient capacity for the requested VM size in this region."',
}
QUOTA = {
    "aws": "creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 400, RequestID: "
    "77aa, api error VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 0 allows "
    "for the instance bucket that the specified instance type belongs to.",
    "google": "googleapi: Error 403: Quota 'NVIDIA_A100_GPUS' exceeded. Limit: 0.0 globally., quotaExceeded",
    "azurerm": 'creating Linux Virtual Machine: Code="OperationNotAllowed" Message="Operation could not be completed '
    'as it results in exceeding approved standardNCADSA100v4Family Cores quota."',
}
AUTH = {
    "aws": "creating EC2 Instance: operation error EC2: RunInstances, https response error StatusCode: 403, RequestID: "
    "11bb, api error UnauthorizedOperation: You are not authorized to perform this operation.",
    "google": "googleapi: Error 403: Required 'compute.instances.create' permission for 'projects/p', forbidden",
    "azurerm": "creating Linux Virtual Machine: unexpected status 403 (403 Forbidden) with error: AuthorizationFailed",
}
DEPENDENCY = {
    "aws": "deleting EC2 VPC: operation error EC2: DeleteVpc, https response error StatusCode: 400, RequestID: 99cc, "
    "api error DependencyViolation: The vpc has dependencies and cannot be deleted.",
    "google": "Error waiting for Deleting Network: The network resource is already being used by another resource, "
    "resourceInUseByAnotherResource",
    "azurerm": 'deleting Network Interface: Code="NicInUse" Message="Network Interface is used by existing resource"',
}
