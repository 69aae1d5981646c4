from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import formula
from memory.domain import Domain, edit_distance
from memory.integers import Integers
from memory.latex import Latex
from memory.strings import Strings
from tests.memory.memory_checker import DOMAINS, distance

ALL = [Strings(), Integers(), Latex()]
PAIRS = [(domain, operator.name) for domain in ALL for operator in domain.operators]


@pytest.mark.parametrize(("domain", "name"), PAIRS, ids=[f"{d.name}-{n}" for d, n in PAIRS])
def test_an_operator_does_what_its_words_say_and_its_inverse_images_are_exact(domain: Domain, name: str) -> None:
    functions, read, write, _ = DOMAINS[domain.name]
    operator = domain.operator(name)
    rng = Random(name)
    for _ in range(60):
        value = domain.draw(rng)
        for other in rng.sample(domain.operators, 2):  # so that outputs of other operators are inputs as well
            assert domain.show(operator.apply(value)) == write(functions[operator.words](read(domain.show(value))))
            image = operator.apply(value)
            back = operator.preimages(image)
            assert back
            assert all(operator.apply(one) == image for one in back)
            assert all(operator.apply(one) == value for one in operator.preimages(value))
            value = other.apply(value)


@pytest.mark.parametrize(
    ("domain", "name", "text"),
    [(ALL[0], "sort", "ba"), (ALL[1], "sort", "2 1"), (ALL[1], "double", "2 3"), (ALL[2], "derive", "x=3x"),
     (ALL[2], "raise", "x=1"), (ALL[2], "double", "3x=2"), (ALL[2], "sqrt_left", "x=1")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)  # fmt: skip
def test_what_an_operator_cannot_give_has_no_inverse_image(domain: Domain, name: str, text: str) -> None:
    assert domain.operator(name).preimages(domain.parse(text)) == []


@pytest.mark.parametrize("domain", ALL, ids=lambda domain: domain.name)
def test_every_domain_has_operators_of_its_own_and_reads_what_it_writes(domain: Domain) -> None:
    assert len({operator.name for operator in domain.operators}) == len(domain.operators) >= 12
    assert {operator.words for operator in domain.operators} == set(DOMAINS[domain.name][0])
    rng = Random(3)
    for _ in range(200):
        value = domain.draw(rng)
        for operator in rng.sample(domain.operators, 3):
            value = operator.apply(value)
        text = domain.show(value)
        assert domain.parse(text) == value
        assert domain.parse(f" {text} ") == value
        assert set(text) <= domain.alphabet
        assert domain.canonical(f"  {text} ") == domain.canonical(text)


@pytest.mark.parametrize("domain", [Strings(), Integers()], ids=lambda domain: domain.name)
def test_a_neighbour_is_made_of_the_same_parts(domain: Domain) -> None:
    rng = Random(4)
    for _ in range(100):
        value = domain.draw(rng)
        other = domain.neighbour(rng, value)
        assert sorted(domain.show(other)) == sorted(domain.show(value))
        assert other != value or len(set(value)) == 1


@pytest.mark.parametrize("text", ["", "x", "x=", "x==1", "0x=1", "x^0=1", "2+=1", "x=1=2", "q=1", r"\sqrt{x=1", "xy=1"])
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        formula.parse(text)


@given(st.lists(st.integers(0, 3), max_size=6), st.lists(st.integers(0, 3), max_size=6))
@settings(max_examples=25, deadline=None)
def test_the_edit_distance_is_that_of_its_recursive_definition(left: list[int], right: list[int]) -> None:
    assert edit_distance(left, right) == distance(left, right)
