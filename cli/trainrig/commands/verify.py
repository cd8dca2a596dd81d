"""verify: check that the nodes of a rig are as promised, and that nothing on them moved."""

from __future__ import annotations

from trainrig.commands.options import Env, Format, OutputFormat, Quiet, RigArg, Verbose


def command(
    rig: RigArg,
    env: Env = None,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """GPUs, driver, CUDA in the job's own container, disks, clock, bucket, and drift from the roles. Changes nothing.

    Exit code 8 when a check failed. What cannot be checked because it is not there is not applicable, never passed.
    """
    from trainrig.console import Console
    from trainrig.lifecycle import rig_site
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.lifecycle.verify import require
    from trainrig.reports import evidence_text

    console = Console(format=output.value, quiet=quiet, verbose=verbose)
    with console.progress() as observe, opened(find_environment(env), observe=observe) as context:
        evidence = rig_site.verify_rig(context, rig)
    if output is OutputFormat.JSON:
        console.document(evidence.to_document(), line=True)
    else:
        console.data(evidence_text.text(evidence))
    require(evidence, mended=False)
