"""Keys by which rank 0 enters the job on the other nodes: made for one launch of `launch: mpi`, never written here."""

from __future__ import annotations

from trainrig.localcloud import hostkey
from trainrig.render import mpi
from trainrig.render.launch import Launch


def of(launch: Launch) -> dict[int, dict[str, str]]:
    """Rank -> file name -> text, for root of that node alone; empty for a job whose nodes do not enter one another."""
    if launch.job.launch != "mpi" or len(launch.nodes) == 1:
        return {}
    head_key = _key()
    host_keys = {node.rank: _key() for node in launch.nodes}
    return {
        node.rank: mpi.private_files(launch.nodes, node, head_key=head_key, host_keys=host_keys)
        for node in launch.nodes
    }


def _key() -> mpi.Key:
    made = hostkey.generate()
    return mpi.Key(private=made.private.decode(), public=made.public)
