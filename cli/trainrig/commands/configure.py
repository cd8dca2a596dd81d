"""configure: converge the nodes of a rig that is up, and check that they are as promised."""

from __future__ import annotations

from trainrig.commands.options import Env, Format, OutputFormat, Quiet, RigArg, Verbose


def command(
    rig: RigArg,
    env: Env = None,
    output: Format = OutputFormat.TEXT,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Runs the Ansible roles on all nodes at once. Again: mends what moved, and does nothing where nothing did.

    The checks are kept with the rig; trainrig verify makes them again.
    """
    from trainrig.console import Console
    from trainrig.lifecycle import rig_site
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.reports import evidence_text

    console = Console(format=output.value, quiet=quiet, verbose=verbose)
    with console.progress() as observe, opened(find_environment(env), observe=observe) as context:
        evidence = rig_site.configure(context, rig)
    if output is OutputFormat.JSON:
        console.document(evidence.to_document())
    else:
        console.data(evidence_text.text(evidence))
