"""Comments of a pull request on GitHub or a merge request on GitLab, over their REST APIs."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trainrig.errors import CommandFailed, CredentialsMissing, UsageError

TIMEOUT_SECONDS = 30.0
PAGE = 100

Kind = Literal["github", "gitlab"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Forge:
    """One pull or merge request."""

    kind: Kind
    comments_url: str
    edit_url: str  # with {id}
    token: str
    repository: str
    number: str
    since: str | None = None  # only comments that were changed since then
    user_url: str | None = None  # who the token is; a pipeline's token of GitHub is nobody that could be asked for

    def comments(self) -> Iterator[tuple[str, str]]:
        """`(id, body)` of those that a pipeline or a member of the project wrote, oldest first: a stranger's marker
        is nobody's."""
        page = 1
        since = f"&since={urllib.parse.quote(self.since)}" if self.since else ""
        own = self._call("GET", self.user_url)["id"] if self.user_url else None
        while True:
            found = self._call("GET", f"{self.comments_url}?per_page={PAGE}&page={page}{since}")
            for one in found:
                if _trusted(one) if own is None else one["author"]["id"] == own:
                    yield str(one["id"]), str(one.get("body") or "")
            if len(found) < PAGE:
                return
            page += 1

    def create(self, body: str) -> None:
        self._call("POST", self.comments_url, {"body": body})

    def update(self, id_: str, body: str) -> None:
        self._call("PATCH" if self.kind == "github" else "PUT", self.edit_url.format(id=id_), {"body": body})

    def _call(self, method: str, url: str, value: Mapping[str, str] | None = None) -> Any:
        return call(self.kind, self.token, method, url, value)


def call(kind: Kind, token: str, method: str, url: str, value: Mapping[str, str] | None = None) -> Any:
    """One request to a REST API; what it answers. Raises CommandFailed with the server's words."""
    headers = {"Content-Type": "application/json", "User-Agent": "trainrig"}
    if kind == "github":
        headers |= {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    else:
        headers |= {"PRIVATE-TOKEN": token}
    data = None if value is None else json.dumps(value).encode()
    request = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310 - checked below
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            told = error.read(500).decode("utf-8", "replace")
        right = "actions: read" if "/actions/" in url else "pull-requests: write"
        hint = f"the token needs `{right}`" if error.code in {401, 403, 404} else ""
        raise CommandFailed(f"{method} {url}: {error.code} {told}", hint=hint) from error
    except OSError as error:
        raise CommandFailed(f"{method} {url}: {error}", hint="is there a network?") from error


def find(env: Mapping[str, str], *, repository: str | None = None, number: str | None = None) -> Forge:
    """The request that this pipeline runs for, from the variables that GitHub Actions and GitLab CI set.

    Raises:
        UsageError: which request it is cannot be told.
        CredentialsMissing: there is no token.
    """
    if "CI_API_V4_URL" in env:
        project = urllib.parse.quote(repository or env.get("CI_PROJECT_ID", ""), safe="")
        number = number or env.get("CI_MERGE_REQUEST_IID")
        server = _checked(env["CI_API_V4_URL"])
        api = f"{server}/projects/{project}/merge_requests/{_number(number)}/notes"
        found = token(env, "GITLAB_TOKEN")
        name = repository or env.get("CI_PROJECT_PATH", project)
        return Forge(
            kind="gitlab",
            comments_url=api,
            edit_url=f"{api}/{{id}}",
            token=found,
            repository=name,
            number=_number(number),
            user_url=f"{server}/user",
        )
    name, api = _github(env, repository)
    number = _number(number or _pull_number(env))
    return Forge(
        kind="github",
        comments_url=f"{api}/{number}/comments",
        edit_url=f"{api}/comments/{{id}}",
        token=token(env, "GITHUB_TOKEN", "GH_TOKEN"),
        repository=name,
        number=number,
    )


def all_requests(env: Mapping[str, str], *, repository: str | None, since: str) -> Forge:
    """The comments of all pull requests of a GitHub repository; they can be changed, not added to.

    Raises:
        UsageError: no repository, or not on GitHub: GitLab lists comments only by their request.
        CredentialsMissing: there is no token.
    """
    if "CI_API_V4_URL" in env:
        raise UsageError("GitLab has no list of all comments", hint="trainrig comment --run-id ID --state expired")
    name, api = _github(env, repository)
    return Forge(
        kind="github",
        comments_url=f"{api}/comments",
        edit_url=f"{api}/comments/{{id}}",
        token=token(env, "GITHUB_TOKEN", "GH_TOKEN"),
        repository=name,
        number="",
        since=since,
    )


def _github(env: Mapping[str, str], repository: str | None) -> tuple[str, str]:
    """The repository's name, and where its issues are."""
    name = repository or env.get("GITHUB_REPOSITORY", "")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise UsageError("which repository?", hint="--repo OWNER/NAME, or run in a pipeline")
    return name, f"{_checked(env.get('GITHUB_API_URL', 'https://api.github.com'))}/repos/{name}/issues"


def _trusted(comment: Mapping[str, Any]) -> bool:
    """Whether an app or somebody with rights in the repository wrote it."""
    association = comment.get("author_association")
    return (comment.get("user") or {}).get("type") == "Bot" or association in {"OWNER", "MEMBER", "COLLABORATOR"}


def _checked(url: str) -> str:
    if not re.match(r"https?://", url):
        raise UsageError(f"{url!r} is no http address")
    return url.rstrip("/")


def _number(text: str | None) -> str:
    if not text or not re.fullmatch(r"[0-9]{1,12}", text):
        raise UsageError("which pull or merge request?", hint="--pr NUMBER, or run in a pipeline of one")
    return text


def _pull_number(env: Mapping[str, str]) -> str | None:
    found = re.fullmatch(r"refs/pull/([0-9]+)/\w+", env.get("GITHUB_REF", ""))
    if found:
        return found[1]
    try:
        event = json.loads(Path(env.get("GITHUB_EVENT_PATH", "")).read_text(encoding="utf-8"))
        return str(event.get("number") or event["issue"]["number"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def token(env: Mapping[str, str], *names: str) -> str:
    for name in names:
        if env.get(name):
            return env[name]
    raise CredentialsMissing(f"no token: none of {', '.join(names)} is set", hint="give the job one that may comment")
