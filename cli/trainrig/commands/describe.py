"""describe: all that is known of one rig: attempts, nodes, drift, and what happened when."""

from __future__ import annotations

from trainrig.commands.options import Env, Format, OutputFormat, RigArg


def command(rig: RigArg, env: Env = None, output: Format = OutputFormat.TEXT) -> None:
    """Compares state and cloud side by side where the rig is up, and changes nothing."""
    from trainrig.console import Console
    from trainrig.lifecycle.context import opened
    from trainrig.lifecycle.drift import drift
    from trainrig.lifecycle.load_job import find_environment
    from trainrig.lifecycle.rig_environment import in_own_environment
    from trainrig.lifecycle.status import status
    from trainrig.lifecycle.verify import stored
    from trainrig.model.clock import iso, utc_now
    from trainrig.reports import evidence_text, status_json, status_text

    console = Console(format=output.value)
    with opened(find_environment(env)) as context:
        known = context.journal.find(rig)
        context = in_own_environment(context, known, env)
        found = status(context, known, ask_cloud=True)
        differs = drift(context, known) if found.nodes and found.holder is None else ()
        happened = context.journal.happenings(known.run_id)
        evidence = stored(context.rig_dir(known.identity).path)
    if output is OutputFormat.JSON:
        console.document(
            {
                "schema": "trainrig.describe/1",
                "rig": status_json.rig_document(found),
                "drift": status_json.drift_document(found.name, found.run_id, differs)["drift"],
                "evidence": evidence and evidence.to_document(),
                "events": [{"at": iso(h.at), "kind": h.kind, "data": dict(h.data)} for h in happened],
            }
        )
        return
    parts = [status_text.rigs([found], utc_now())]
    if found.attempts:
        parts.append(status_text.attempts(found.attempts))
    if found.nodes:
        parts += [status_text.nodes(found, differs), status_text.drift(differs)]
    if evidence:
        parts += [f"checked {evidence.at}", evidence_text.text(evidence)]
    parts += status_text.happenings([(h.at, h.kind, h.data) for h in happened])
    console.data("\n".join(parts))
