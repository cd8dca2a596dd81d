from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from support import rigs
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.placement.admission import Use, Wish, account_of, admit, use_of, wish_of

TEAM = {"profile": "team"}


def environment(name: str = "test", *, max_runs: int | None = None, **policy: object) -> Environment:
    return Environment(
        name=name,
        clouds=(CloudPolicy(cloud="aws", account=TEAM, **policy), CloudPolicy(cloud="gcp")),  # type: ignore[arg-type]
        max_runs=max_runs,
    )


def wish(run_id: str, where: Environment, *clouds: str, gpus: int = 8, nodes: int = 1) -> Wish:
    candidates = [rigs.candidate(nodes, cloud=cloud, gpu_count=gpus) for cloud in clouds or ("aws",)]
    return wish_of(run_id, where, candidates)


def admitted(wishes: list[Wish], uses: list[Use] | None = None) -> dict[str, str]:
    """run id -> account, of those that may begin."""
    return {v.run_id: v.use.account for v in admit(wishes, uses or []) if v.use}


def test_without_limits_all_begin_on_their_first_candidate() -> None:
    wishes = [wish(str(n), environment(), "gcp", "aws") for n in range(3)]
    assert admitted(wishes) == dict.fromkeys("012", "gcp")


def test_an_environment_runs_so_many_wherever_they_are() -> None:
    where = environment(max_runs=2)
    other = environment("other")
    verdicts = list(admit([wish("1", where), wish("2", where, "gcp"), wish("3", where), wish("4", other)], []))
    assert [v.use is not None for v in verdicts] == [True, True, False, True]
    assert verdicts[2].full == ("environment test runs 2, 2 are allowed",)


def test_an_account_is_one_in_whichever_environments_it_stands() -> None:
    one, two = environment("one"), environment("two")
    limited = Environment(name="one", clouds=(CloudPolicy(cloud="aws", account=TEAM, max_runs=1),))
    assert account_of("aws", one.policy("aws")) == account_of("aws", two.policy("aws")) == "aws profile=team"
    busy = use_of(two, rigs.candidate(cloud="aws"))
    assert admitted([wish("1", limited)], [busy]) == {}
    elsewhere = Environment(name="one", clouds=(CloudPolicy(cloud="aws", max_runs=1),))
    assert admitted([wish("1", elsewhere)], [busy]) == {"1": "aws"}


def test_a_full_account_is_passed_for_the_next_candidate() -> None:
    where = environment(max_gpus={"A100": 16})
    wishes = [wish(str(n), where, "aws", "gcp") for n in range(4)]
    assert admitted(wishes) == {"0": "aws profile=team", "1": "aws profile=team", "2": "gcp", "3": "gcp"}


def test_gpus_of_all_nodes_count_and_the_star_is_for_each_other_gpu() -> None:
    where = environment(max_gpus={"H100": 0, "*": 16})
    assert admitted([wish("1", where, nodes=2)]) == {"1": "aws profile=team"}
    (verdict,) = admit([wish("1", where, nodes=3)], [])
    assert verdict.full == ("account aws profile=team has 0 A100 in use, 24 are wanted, 16 are allowed",)


def test_a_large_run_is_not_passed_by_small_ones_for_what_it_waits_for() -> None:
    where = environment(max_gpus={"A100": 16})
    busy = use_of(where, rigs.candidate(cloud="aws", gpu_count=8))
    wishes = [wish("large", where, nodes=2), wish("small", where), wish("other", where, "gcp")]
    verdicts = {v.run_id: v for v in admit(wishes, [busy])}
    assert verdicts["large"].use is None
    assert verdicts["small"].use is None
    assert verdicts["small"].full == verdicts["large"].full
    assert verdicts["other"].use is not None


def test_who_stops_asking_has_admitted_nobody_else() -> None:
    asked = []

    def wishes() -> object:
        for n in range(5):
            asked.append(n)
            yield wish(str(n), environment())

    next(iter(admit(wishes(), [])))  # type: ignore[arg-type]
    assert asked == [0]


@given(
    st.lists(st.tuples(st.sampled_from(["aws", "gcp"]), st.integers(1, 8), st.integers(1, 3)), max_size=20),
    st.integers(1, 5),
    st.integers(0, 24),
)
def test_no_limit_is_ever_passed(jobs: list[tuple[str, int, int]], runs: int, gpus: int) -> None:
    where = environment(max_runs=runs + 3, max_gpus={"A100": gpus})
    wishes = [wish(str(n), where, cloud, gpus=g, nodes=k) for n, (cloud, g, k) in enumerate(jobs)]
    found = [v.use for v in admit(wishes, []) if v.use]
    assert len(found) <= runs + 3
    assert sum(u.gpus for u in found if u.account.startswith("aws")) <= gpus
    assert Counter(v.run_id for v in admit(wishes, [])) == Counter(w.run_id for w in wishes)


def test_each_account_of_a_cloud_has_room_of_its_own() -> None:
    clouds = tuple(CloudPolicy(cloud="aws", name=n, account={"profile": n}, max_runs=1) for n in ("grant", "main"))
    where = Environment(name="test", clouds=clouds)
    candidates = [replace(rigs.candidate(cloud="aws"), account=n) for n in ("grant", "main")]
    wishes = [wish_of(run_id, where, candidates) for run_id in "123"]
    assert admitted(wishes) == {"1": "aws profile=grant", "2": "aws profile=main"}
