"""Comments over REST, against a server that does what GitHub and GitLab do with comments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fake_forge import Server, github, serving
from trainrig.errors import CommandFailed, CredentialsMissing, UsageError
from trainrig.tools.forge import find


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def gitlab(server: Server) -> dict[str, str]:
    return {
        "CI_API_V4_URL": server.url,
        "CI_PROJECT_ID": "7",
        "CI_PROJECT_PATH": "team/train",
        "CI_MERGE_REQUEST_IID": "12",
        "GITLAB_TOKEN": "forge-test-token",
    }


@pytest.mark.parametrize("kind", [github, gitlab])
def test_comments_are_listed_made_and_changed(server: Server, kind: object) -> None:
    request = find(kind(server))  # type: ignore[operator]
    for i in range(101):
        request.create(f"comment {i}")
    assert [body for _, body in request.comments()][-1] == "comment 100"
    request.update("100", "new text")
    assert list(request.comments())[100] == ("100", "new text")


@pytest.mark.parametrize("kind", [github, gitlab])
def test_comments_of_strangers_are_not_ours(server: Server, kind: object) -> None:
    stranger = {"user": {"type": "User"}, "author_association": "NONE", "author": {"id": 2}}
    server.comments.append({"id": 0, "body": "a forged marker", **stranger})
    request = find(kind(server))  # type: ignore[operator]
    request.create("ours")
    assert list(request.comments()) == [("1", "ours")]


def test_addresses_are_those_of_the_forges(server: Server) -> None:
    find(github(server)).create("x")
    find(github(server)).update("0", "y")
    find(gitlab(server)).update("0", "z")
    assert [(m, p) for m, p, _ in server.seen] == [
        ("POST", "/repos/team/train/issues/12/comments"),
        ("PATCH", "/repos/team/train/issues/comments/0"),
        ("PUT", "/projects/7/merge_requests/12/notes/0"),
    ]


def test_a_token_that_may_not_comment_is_named_and_not_shown(server: Server) -> None:
    with pytest.raises(CommandFailed) as caught:
        find(github(server, GITHUB_TOKEN="ghs_secret")).create("x")
    assert "403" in caught.value.message
    assert "pull-requests: write" in caught.value.hint
    assert "ghs_secret" not in str(caught.value)


def test_the_request_comes_from_the_pipeline_or_is_asked_for(server: Server, tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text('{"issue": {"number": 34}}')
    env = github(server, GITHUB_REF="refs/heads/main", GITHUB_EVENT_PATH=str(event))
    assert find(env).number == "34"
    assert find(env, number="56").number == "56"
    with pytest.raises(UsageError, match="which pull"):
        find(github(server, GITHUB_REF="refs/heads/main"))
    with pytest.raises(UsageError, match="which repository"):
        find({**github(server), "GITHUB_REPOSITORY": "../../x"})
    with pytest.raises(CredentialsMissing, match="GITHUB_TOKEN"):
        find({**github(server), "GITHUB_TOKEN": ""})
