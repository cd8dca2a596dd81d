"""Whether a CI run has ended, by the address that model/pipeline.py makes."""

from __future__ import annotations

from collections.abc import Mapping

from trainrig.tools import forge

_GITLAB_ENDED = {"success", "failed", "canceled", "skipped"}


def ended(run: str, env: Mapping[str, str]) -> bool:
    """Whether a run has come to its end, in success or not. One that was started again has not.

    Raises:
        CredentialsMissing: there is no token to ask with.
        CommandFailed: the server refuses or does not answer.
    """
    if "/actions/runs/" in run:
        token = forge.token(env, "GITHUB_TOKEN", "GH_TOKEN")
        return bool(forge.call("github", token, "GET", run)["status"] == "completed")
    return forge.call("gitlab", forge.token(env, "GITLAB_TOKEN"), "GET", run)["status"] in _GITLAB_ENDED
