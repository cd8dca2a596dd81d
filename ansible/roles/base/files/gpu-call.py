"""gpu-call: calls CUDA from inside the job's container, and NCCL where PyTorch is there. One JSON document.

The image decides what can be tried: PyTorch, else the driver's library through ctypes.
"""

import ctypes
import json
import os


def by_torch():
    import torch

    count = torch.cuda.device_count()
    for index in range(count):
        ones = torch.ones(1024, device=f"cuda:{index}")
        if float(ones.sum()) != 1024:
            raise RuntimeError(f"GPU {index} adds wrongly")
    answer = {"how": f"PyTorch {torch.__version__}", "gpus": count}
    if count > 1:
        import torch.multiprocessing as mp

        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29501")
        mp.spawn(all_reduce, args=(count,), nprocs=count)
        answer["all_reduce"] = "ok"
    return answer


def all_reduce(rank, count):
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=count)
    mine = torch.full((1 << 20,), float(rank + 1), device="cuda")
    dist.all_reduce(mine)
    dist.destroy_process_group()
    if float(mine[0]) != count * (count + 1) / 2:
        raise RuntimeError(f"all-reduce gave {float(mine[0])} on GPU {rank}")


def by_driver():
    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    for name, code in (("cuInit", cuda.cuInit(0)), ("cuDeviceGetCount", cuda.cuDeviceGetCount(ctypes.byref(count)))):
        if code:
            raise RuntimeError(f"{name} failed with CUDA error {code}")
    return {"how": "the CUDA driver", "gpus": count.value}


def main():
    try:
        try:
            answer = by_torch()
        except ImportError:
            answer = by_driver()
    except Exception as error:  # noqa: BLE001
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
