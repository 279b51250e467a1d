"""What is rendered once for all readers: as long as what it shows, and how, stays the same."""

import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pbem.reports import TemplateFault, reread, words
from pbem.reports.templates import environment, render

Facts = dict[str, Any]


@pytest.fixture
def put(tmp_path: Path) -> Any:
    """Write a template, each time with a later time of change, and have it read."""
    times = count(1)

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (time := next(times), time))
        reread()

    return write


class Counted:
    """A fact that says how often it was asked, and is equal to any other of its kind."""

    def __init__(self, counter: Iterator[int]) -> None:
        self._counter = counter

    def __str__(self) -> str:
        return str(next(self._counter))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted)

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture
def once(tmp_path: Path) -> Any:
    """Render a template once, with `times` telling how often that was done before."""
    counter = count()

    def rendered(markup: bool = False, **facts: Any) -> str:
        env = environment(tmp_path, "once", markup)
        return render(env, "a.txt", {"times": Counted(counter), **facts}, once=True)

    return rendered


def test_it_is_rendered_again_where_a_fact_that_it_names_has_changed(once: Any, put: Any) -> None:
    put("a.txt", "{{ times }} {{ page.who.name }}{% for x in page.rows %} {{ x.n }}{% endfor %}")
    page = {"who": {"name": "Ann", "age": 9}, "rows": [{"n": 1}], "front": "A1"}
    assert once(page=page, seat="Ann") == "0 Ann 1"
    assert once(page={**page, "front": "A2"}, seat="Bob") == "0 Ann 1"
    assert once(page={**page, "who": {"name": "Ann", "age": 8}}) == "0 Ann 1"
    assert once(page={**page, "who": {"name": "Bob"}}) == "1 Bob 1"
    assert once(page={**page, "rows": [{"n": 2}]}) == "2 Ann 2"


def test_a_method_of_a_fact_may_tell_all_of_it(once: Any, put: Any) -> None:
    put("a.txt", "{{ times }}{% for name, n in page.all.items() %} {{ name }}{{ n }}{% endfor %}")
    assert once(page={"all": {"a": 1, "items": 5}}) == "0 a1 items5"
    assert once(page={"all": {"a": 2, "items": 5}}) == "1 a2 items5"


def test_what_it_includes_imports_and_renders_once_counts_too(once: Any, put: Any) -> None:
    put(
        "a.txt", '{{ times }} {% import "say.txt" as say %}{% include "b.txt" %}{{ once("c.txt") }}'
    )
    put("b.txt", "{{ b }}")
    put("c.txt", '{{ once("d.txt") }}')
    put("d.txt", "{{ d }}")
    put("say.txt", "{% macro hi() %}{% endmacro %}")
    assert once(b=1, d=1) == once(b=1, d=1, other=2) == "0 11"
    assert once(b=2, d=1) == "1 21"
    assert once(b=2, d=2) == "2 22"
    put("b.txt", "{{ b }}!")
    assert once(b=2, d=2) == "3 2!2"
    put("d.txt", "{{ d }}?")
    assert once(b=2, d=2) == "4 2!2?"


def test_templates_may_call_for_each_other(once: Any, put: Any) -> None:
    put(
        "a.txt",
        '{{ deep }}{% if deep < 3 %}{% set deep = deep + 1 %}{% include "b.txt" %}{% endif %}',
    )
    put("b.txt", '{% include "a.txt" %}')
    assert once(deep=1) == "123"
    put("a.txt", '{{ once("a.txt") }}')
    with pytest.raises(TemplateFault, match="recursion"):
        once()


def test_what_cannot_be_told_before_is_never_rendered_once(once: Any, put: Any) -> None:
    put("b.txt", "{{ b }}")
    for number, text in enumerate(("{% include which %}", "{{ once(which) }}")):
        put("a.txt", "{{ times }} " + text)
        assert once(which="b.txt", b=1) == f"{number * 2} 1"
        assert once(which="b.txt", b=2) == f"{number * 2 + 1} 2"


def test_values_are_escaped_in_markup_and_only_once(once: Any, put: Any) -> None:
    put("a.txt", '{{ name }}|{{ once("b.txt") }}')
    put("b.txt", "-{{ name }}-")
    assert once(markup=True, name="<i>") == "&lt;i&gt;|-&lt;i&gt;-"
    assert once(markup=False, name="<i>") == "<i>|-<i>-"


def test_a_fault_in_what_is_rendered_once_is_named_as_any(once: Any, put: Any) -> None:
    put("a.txt", '\n{{ once("b.txt") }}')
    put("b.txt", "{{ 1 / 0 }}")
    with pytest.raises(TemplateFault, match=r"b\.txt, line 1: ZeroDivisionError"):
        once()
    put("a.txt", '\n{{ once("gone.txt") }}')
    with pytest.raises(TemplateFault, match=r"there is no template gone\.txt"):
        once()


def test_what_may_be_missing_is_left_out(once: Any, put: Any) -> None:
    put("a.txt", '{{ a }}{% include "gone.txt" ignore missing %}{% include ["no.txt", "b.txt"] %}')
    put("b.txt", "{{ b }}")
    assert once(a=1, b=2) == "12"
    put("gone.txt", "!")
    assert once(a=1, b=3) == "1!3"


def test_a_letter_has_the_markup_that_is_rendered_once_in_its_place_with_its_styles(
    facts: dict[str, Any], put: Any, tmp_path: Path
) -> None:
    put("fencing/report.html", '<p>before</p>{{ once("fencing/hits.html") }}<p>after</p>')
    put("fencing/hits.html", '{{ once("fencing/more.html") }}<p class="hit-0">{{ view.best }}</p>')
    put("fencing/more.html", "<h3>Hits</h3>")
    put("fencing/reader.html", '<style data-css-inline="keep">.hit-0 { color: red; }</style>')
    for seat in ("Ann", "Bob"):
        given = {**facts, "seat": seat, "view": {"best": f"<{seat}>"}}
        html = words("report", given, tmp_path).html
        assert html is not None
        assert "<!-- fencing" not in html
        assert html.count(".hit-0 { color: red; }") == 1
        told = re.search(r"before</p><h3 style=.*?>Hits</h3>(<p.*?)</p><p[^>]*>after", html)
        assert told
        assert told[1].endswith(f">&lt;{seat}&gt;")
        assert 'class="hit-0"' in told[1]
        assert "margin: 0 0 12px 0" in told[1]
        assert "red" not in told[1]
