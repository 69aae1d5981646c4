"""The prime metrics of ARQMath Task 2 on visual groups. Pure: numbers in, numbers out, no files.

A ranking of formula instances is mapped to visual groups, each group keeps its first rank, unjudged groups are removed
and judged groups of grade 0 stay (Zanibbi et al., Overview of ARQMath 2020, CLEF 2020, section 5: "prime" metrics after
Sakai, SIGIR 2007). Grades run from 0 to 3; "relevant" means grade 2 or 3. For nDCG' the gain is the grade itself.

Worked example: judgements {1: 3, 2: 0, 3: 2}, ranking of groups [9, 2, 1, 9]. Group 9 is unjudged, so the grades in
order are [0, 3]; DCG = 0 / log2(2) + 3 / log2(3) = 1.893, ideal DCG = 3 / log2(2) + 2 / log2(3) = 4.262 and
nDCG' = 0.444. AP' = (1 / 2) / 2 = 0.25, P'@10 = 1 / 10, judged@10 = 2 / 10, judged recall = 2 / 3, recall = 1 / 2.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

RELEVANT = 2
"""Lowest grade that counts as relevant where relevance is a yes or no (ARQMath's "H+M" binarisation)."""

DEPTH = 1000
"""Results of a topic that count; the contract allows no more, and a longer ranking is cut here before grouping."""

Judgements = Mapping[int, int]
"""Grades, 0 to 3, of one topic by visual id."""


@dataclass(frozen=True)
class TopicScores:
    """Scores of one topic, each from 0 to 1; None where the topic has no relevant group and so no value.

    Attributes:
        ndcg: nDCG' over the whole ranking.
        ap: Average precision over the judged groups (its mean is MAP').
        p10: P'@10, the relevant ones among the first 10 judged groups, divided by 10.
        judged10: Judged ones among the first 10 groups (before unjudged ones are removed), divided by 10.
        judged_recall: Share of the judged groups that the ranking holds.
        relevant_recall: Share of the relevant groups that the ranking holds.
    """

    ndcg: float
    ap: float | None
    p10: float
    judged10: float
    judged_recall: float
    relevant_recall: float | None


METRICS = {
    "ndcg": "nDCG'",
    "ap": "MAP'",
    "p10": "P'@10",
    "judged10": "judged@10",
    "judged_recall": "judged recall",
    "relevant_recall": "relevant recall",
}
"""Fields of `TopicScores` and the names people read, in the order of every table."""


def distinct(visual_ids: Iterable[int]) -> list[int]:
    """Groups in the order of their first rank: `distinct([5, 3, 5, 1]) == [5, 3, 1]`."""
    return list(dict.fromkeys(visual_ids))


def dcg(grades: Sequence[int]) -> float:
    """Discounted cumulative gain with linear gains: the sum of grade / log2(rank + 1), ranks from 1."""
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def ndcg(grades: Sequence[int], judgements: Judgements) -> float:
    """`dcg` of the judged grades in ranked order over that of all judgements, best first; 0 where all are 0."""
    ideal = dcg(sorted(judgements.values(), reverse=True))
    return dcg(grades) / ideal if ideal else 0.0


def average_precision(grades: Sequence[int], judgements: Judgements) -> float | None:
    """Mean over all relevant groups of the precision at their rank, 0 for those not found; None without any."""
    relevant = sum(grade >= RELEVANT for grade in judgements.values())
    hits, total = 0, 0.0
    for rank, grade in enumerate(grades, start=1):
        if grade >= RELEVANT:
            hits += 1
            total += hits / rank
    return total / relevant if relevant else None


def score_topic(visual_ids: Iterable[int], judgements: Judgements) -> TopicScores:
    """Score one ranking.

    Args:
        visual_ids: The visual id of each returned instance, best first; empty where the topic has no answer. Groups may
            repeat, results beyond `DEPTH` do not count.
        judgements: The topic's complete judgements.

    Raises:
        ValueError: The topic has no judgement, so nothing can be scored.
    """
    if not judgements:
        raise ValueError("a topic without judgements cannot be scored")
    groups = distinct(list(visual_ids)[:DEPTH])
    grades = [judgements[group] for group in groups if group in judgements]
    relevant = sum(grade >= RELEVANT for grade in judgements.values())
    found = sum(grade >= RELEVANT for grade in grades)
    return TopicScores(
        ndcg=ndcg(grades, judgements),
        ap=average_precision(grades, judgements),
        p10=sum(grade >= RELEVANT for grade in grades[:10]) / 10,
        judged10=sum(group in judgements for group in groups[:10]) / 10,
        judged_recall=len(grades) / len(judgements),
        relevant_recall=found / relevant if relevant else None,
    )


def score_run(rankings: Mapping[str, Iterable[int]], qrels: Mapping[str, Judgements]) -> dict[str, TopicScores]:
    """Score every judged topic, in the order of `qrels`; one that `rankings` lacks is scored as an empty ranking.

    An empty ranking scores 0 everywhere, except that `ap` and `relevant_recall` stay None on a topic without relevant
    groups: so the mean of every run is taken over the same topics.
    """
    return {topic: score_topic(rankings.get(topic, ()), judgements) for topic, judgements in qrels.items()}


def means(scores: Mapping[str, TopicScores]) -> dict[str, float]:
    """Mean of every metric over the topics where it has a value, by field of `TopicScores`; 0 where none has one."""
    columns = zip(*(astuple(topic) for topic in scores.values()), strict=True)
    result = dict.fromkeys((field.name for field in fields(TopicScores)), 0.0)
    for name, column in zip(result, columns, strict=False):
        known = [value for value in column if value is not None]
        result[name] = math.fsum(known) / len(known) if known else 0.0
    return result


def column(scores: Mapping[str, TopicScores], metric: str) -> dict[str, float]:
    """One metric by topic, without the topics where it has no value.

    Raises:
        ValueError: `metric` is no field of `TopicScores`.
    """
    if metric not in METRICS:
        raise ValueError(f"metric {metric!r}: expected one of {', '.join(METRICS)}")
    values = {topic: getattr(row, metric) for topic, row in scores.items()}
    return {topic: value for topic, value in values.items() if value is not None}
