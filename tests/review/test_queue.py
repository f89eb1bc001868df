"""Which answer comes next: drawn at random, by scores, by strata; leases; two people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from review_runs import items_of, label_all, make_run, rows

from veridical.review.items import Items
from veridical.review.queue import LEASE, RandomOrder, random_prefix, rate, stratified_draw
from veridical.review.service import ReviewService


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("queue"), rows(60))


@pytest.fixture
def items(run: Path) -> Items:
    (run / "labels.jsonl").unlink(missing_ok=True)
    return items_of(run)


def work(desk: ReviewService, who: str, count: int) -> list[int]:
    """Rows of the next answers, each labelled."""
    done = []
    for _ in range(count):
        told = desk.next(who)
        assert told is not None
        label_all(desk, who, told["row"], "supported")
        done.append(told["row"])
    return done


def test_the_random_order_is_one_permutation_in_every_life(items: Items) -> None:
    desk = ReviewService(items, ("ann",), order="random")
    first = work(desk, "ann", 5)
    desk.close()
    again = ReviewService(items, ("ann",), order="random")
    rest = work(again, "ann", 55)
    assert again.next("ann") is None
    again.close()
    order = [items.rows[p] for p in RandomOrder(items).permutation]
    assert first + rest == order and sorted(order) == list(items.rows) and order != sorted(order)


@pytest.mark.parametrize("order", ["risk", "uncertain", "disagree"])
def test_orders_by_scores(items: Items, order: str) -> None:
    desk = ReviewService(items, ("ann",), order=order, threshold=0.4)  # type: ignore[arg-type]
    done = [items.place(row) for row in work(desk, "ann", 20)]
    desk.close()
    worth = {
        "risk": items.risks,
        "uncertain": -np.abs(items.risks - 0.4),
        "disagree": items.spreads,
    }[order]
    assert worth[done].tolist() == sorted(worth, reverse=True)[:20]
    assert {e.draw.order for e in desk._log.events if e.draw} == {order}
    assert {e.draw.p for e in desk._log.events if e.draw} == {None}


def test_mixed_is_half_random_and_half_chosen(items: Items) -> None:
    desk = ReviewService(items, ("ann",), order="mixed")
    done = work(desk, "ann", 20)
    desk.close()
    draws = [e.draw for e in desk._log.events if e.event == "done"]
    kinds = [d.order for d in draws if d]
    assert kinds == ["random", "uncertain"] * 10
    assert all((d.p is not None) == (d.order == "random") for d in draws if d)
    prefix = random_prefix(items, desk.labels, desk.queue.chances)
    order = [items.rows[p] for p in desk.queue.chances.permutation]
    assert [items.rows[p] for p in prefix] == order[: len(prefix)]
    assert set(done) >= set(order[: len(prefix)]) and len(prefix) >= 10


def test_a_gap_in_the_random_order_ends_the_draw_until_it_is_filled(items: Items) -> None:
    desk = ReviewService(items, ("ann",), order="random")
    order = [items.rows[p] for p in desk.queue.chances.permutation]
    assert work(desk, "ann", 3) == order[:3]
    for row in order[4:9]:
        label_all(desk, "ann", row, "supported")
    chances = desk.queue.chances
    assert len(random_prefix(items, desk.labels, chances)) == 3
    assert work(desk, "ann", 1) == [order[3]]  # what is missing comes first
    # what was chosen counts once the draw has gone past it
    assert len(random_prefix(items, desk.labels, chances)) == 4
    assert work(desk, "ann", 1) == [order[9]]
    assert len(random_prefix(items, desk.labels, chances)) == 10
    desk.close()


@pytest.mark.parametrize("order", ["risk", "uncertain", "disagree"])
def test_answers_chosen_by_their_scores_are_no_draw_wherever_they_lie(
    items: Items, order: str
) -> None:
    """With 57 of 60 labelled the permutation begins with labelled ones; they were all chosen."""
    desk = ReviewService(items, ("ann",), order=order)  # type: ignore[arg-type]
    work(desk, "ann", 57)
    chances = desk.queue.chances
    assert desk.labels.is_done(items.rows[int(chances.permutation[0])])
    assert len(random_prefix(items, desk.labels, chances)) == 0
    parts = stratified_draw(items, desk.labels, chances)
    whole = [len(part) for part in parts]
    assert all(n in (0, size) for n, size in zip(whole, chances.sizes.tolist(), strict=True))
    work(desk, "ann", 3)
    assert len(random_prefix(items, desk.labels, chances)) == 60  # all answers are a draw of all
    desk.close()


def test_neyman_draws_within_strata_and_estimates_the_rate(items: Items) -> None:
    desk = ReviewService(items, ("ann",), order="neyman", budget=40)
    truth = {i for i, row in enumerate(rows(60)) if row["wrong"]}
    while (told := desk.next("ann")) is not None:
        label = "contradicted" if told["row"] in truth else "supported"
        label_all(desk, "ann", told["row"], "supported", label)
    chances = desk.queue.chances
    parts = stratified_draw(items, desk.labels, chances)
    assert sum(map(len, parts)) == 40 and min(map(len, parts)) >= 5
    for h, part in enumerate(parts):
        assert part.tolist() == chances.within[h][: len(part)].tolist()
    found = rate(items, desk.labels, chances)
    assert found.low <= 20 / 60 <= found.high and found.n == 40
    told = desk.estimate()
    assert told["done"] and told["groups"] == {}
    desk.close()


def test_two_people_share_some_answers_and_split_the_others(items: Items) -> None:
    now = [0.0]
    desk = ReviewService(items, ("ann", "ben"), order="random", double=0.3)
    desk.queue.clock = lambda: now[0]
    ann, ben = desk.next("ann"), desk.next("ben")
    assert ann is not None and ben is not None
    while not desk.queue.is_double(items.place(ann["row"]) or 0):
        label_all(desk, "ann", ann["row"], "supported")
        ann = desk.next("ann")
        assert ann is not None
    shown = [desk.next(who) for who in ("ben", "ben")]
    assert shown[0] == shown[1]  # it stays with them
    done = {"ann": work(desk, "ann", 15), "ben": work(desk, "ben", 15)}
    both = set(done["ann"]) & set(done["ben"])
    assert all(desk.queue.is_double(items.place(row) or 0) for row in both)
    desk.close()


def test_a_lease_keeps_an_answer_and_ends(items: Items) -> None:
    now = [0.0]
    desk = ReviewService(items, ("ann", "ben"), order="random", double=0.0)
    desk.queue.clock = lambda: now[0]
    ann, ben = desk.next("ann"), desk.next("ben")
    assert ann is not None and ben is not None and ann["row"] != ben["row"]
    again = desk.next("ann")
    assert again is not None and again["row"] == ann["row"]
    now[0] = LEASE + 1
    taken = desk.next("ben", after=ben["row"])
    assert taken is not None and taken["row"] == ann["row"]
    desk.close()


def test_the_double_share_is_near_to_what_was_asked(items: Items) -> None:
    desk = ReviewService(items, ("ann", "ben"), double=0.5)
    assert 0.3 < np.mean([desk.queue.is_double(p) for p in range(60)]) < 0.7
    desk.close()
    alone = ReviewService(items, ("ann",), double=0.5)
    assert not any(alone.queue.is_double(p) for p in range(60))
    alone.close()
