"""Where templates are found, what a broken one is called, the filters, and the colours."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from selectolax.lexbor import LexborHTMLParser

from pbem import typography
from pbem.marker import MARKER
from pbem.reports import TemplateFault, reread, words
from pbem.reports.templates import Ours, columns, environment, listed, plural, said, wrap

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
Facts = dict[str, Any]


def put(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_game_masters_folder_is_looked_in_first(facts: Facts, tmp_path: Path) -> None:
    put(tmp_path, "report/subject.txt", "[{{ match }}] En garde")
    put(tmp_path, "fencing/report.txt", "{{ events | length }} {{ turn | plural('hit', 'hits') }}")
    letter = words("report", facts, tmp_path)
    assert letter.subject == "[fence1] En garde"
    assert "\n1 hits\n" in letter.text
    assert "<pre" in (letter.html or "")
    assert "1 hits" in (letter.html or "")
    assert words("report", facts).subject == "[fence1] Turn 3: 1 thing happened"


def test_a_running_program_uses_templates_changed_or_added(facts: Facts, tmp_path: Path) -> None:
    def subject() -> str:
        reread()
        return words("report", facts, tmp_path).subject

    assert subject() == "[fence1] Turn 3: 1 thing happened"
    put(tmp_path, "report/subject.txt", "one")
    assert subject() == "one"
    put(tmp_path, "report/subject.txt", "two")
    os.utime(tmp_path / "report" / "subject.txt", ns=(1, 1))
    assert subject() == "two"
    (tmp_path / "report" / "subject.txt").unlink()
    assert subject() == "[fence1] Turn 3: 1 thing happened"


def test_game_of_another_package_brings_its_templates(
    facts: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "foreign_duel/__init__.py", "")
    put(tmp_path, "foreign_duel/rules.py", "")
    put(tmp_path, "foreign_duel/templates/duel/headline.txt", "{{ seat }} fires")
    put(tmp_path, "duel-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: duel\nVersion: 1\n")
    for key, module in (("duel", "foreign_duel"), ("duel2", "foreign_duel.rules")):
        put(tmp_path, f"foreign_duel/templates/{key}/headline.txt", f"{key}: {{{{ seat }}}} fires")
        point = f"[pbem.games]\n{key} = {module}\n"
        put(tmp_path, f"{key}-1.dist-info/entry_points.txt", point)
        put(tmp_path, f"{key}-1.dist-info/METADATA", f"Name: {key}\nVersion: 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert words("report", facts | {"game": "duel"}).subject == "[fence1] Turn 3: duel: Ann fires"
    assert words("report", facts | {"game": "duel2"}).subject == "[fence1] Turn 3: duel2: Ann fires"


def test_a_template_that_is_not_utf_8_is_named(facts: Facts, tmp_path: Path) -> None:
    put(tmp_path, "report/subject.txt", "")
    (tmp_path / "report" / "subject.txt").write_bytes("Züge".encode("latin-1"))
    with pytest.raises(TemplateFault, match=r"report/subject\.txt: it is no UTF-8 \(byte 2\)"):
        words("report", facts, tmp_path)


@pytest.mark.parametrize(
    ("name", "template", "fault"),
    [
        ("report/subject.txt", "ok\n{{ persn }}", r"report/subject\.txt, line 2: .*'persn'"),
        ("fencing/report.txt", "{% if %}", r"fencing/report\.txt, line 1: Expected an expression"),
        ("fencing/report.html", "\n\n{{ view.x.y }}", r"fencing/report\.html, line 3: .*'x'"),
        ("fencing/form.txt", "{{ 1 / 0 }}", r"fencing/form\.txt, line 1: ZeroDivisionError"),
        ("report/body.txt", "\n{% include 'gone.txt' %}", r"body\.txt, line 2: .*gone\.txt"),
        ("report/body.txt", "{% include ['go.txt', 'gone.txt'] %}", r"body\.txt, line 1: .*gone"),
        ("report/body.txt", "{% extends 'gone.txt' %}", r"body\.txt, line 1: .*gone\.txt"),
        ("fencing/report.txt", "{{ seat | shout }}", r"report\.txt, line 1: No filter named"),
        ("fencing/picture.svg", "<svg", r"fencing/picture\.svg can't be drawn"),
    ],
)
def test_a_broken_template_is_named_in_one_line(
    name: str, template: str, fault: str, facts: Facts, tmp_path: Path
) -> None:
    put(tmp_path, name, template)
    with pytest.raises(TemplateFault, match=fault) as caught:
        words("report", facts, tmp_path)
    assert "\n" not in str(caught.value)


def test_a_missing_fact_is_a_fault_and_never_an_empty_place(facts: Facts) -> None:
    del facts["turn"]
    with pytest.raises(TemplateFault, match="'turn' is undefined"):
        words("report", facts)


def test_a_kind_of_letter_nobody_wrote_is_a_fault(facts: Facts) -> None:
    with pytest.raises(TemplateFault, match="no template valentine/subject"):
        words("valentine", facts)


def test_a_kind_without_html_is_text_alone(facts: Facts, tmp_path: Path) -> None:
    put(tmp_path, "valentine/subject.txt", "Roses")
    put(tmp_path, "valentine/body.txt", "  are {{ person }}  \n\n\n\n\nred")
    letter = words("valentine", facts, tmp_path)
    assert (letter.text, letter.html) == ("  are Ann Archer\n\nred\n", None)


def test_text_templates_that_html_includes_or_imports_are_escaped_once(
    facts: Facts, tmp_path: Path
) -> None:
    put(tmp_path, "fencing/say.txt", "{% macro hi(name) %}{{ name }} & co{% endmacro %}")
    put(tmp_path, "fencing/story.txt", "{{ seat | wrap }}; {{ seat }}")
    calls = ["say.hi(seat)", "say.hi(seat) | wrap", "say.hi(seat) | forceescape"]
    printed = "".join(f"<i>{{{{ {call} }}}}</i>" for call in [*calls, "[say.hi(seat)] | listed"])
    included = '<u>{% include "fencing/story.txt" %}</u>'
    html = f'{{% import "fencing/say.txt" as say %}}{printed}{included}'
    put(tmp_path, "fencing/report.html", html)
    put(tmp_path, "fencing/report.txt", '{% import "fencing/say.txt" as say %}{{ say.hi(seat) }}')
    letter = words("report", facts | {"seat": "<s>A & B</s>"}, tmp_path)
    page = LexborHTMLParser(letter.html or "")
    assert page.css("s") == []
    assert [node.text() for node in page.css("i")] == ["<s>A & B</s> & co"] * 4
    assert [node.text() for node in page.css("u")] == ["<s>A & B</s>; <s>A & B</s>"]
    assert "\n<s>A & B</s> & co\n" in letter.text


@pytest.mark.parametrize(
    "expression",
    [
        "seat",
        "seat | e",
        "seat | escape",
        "seat | forceescape",
        "seat | safe",
        "seat | e | safe | wrap",
        "('<b>%s</b>' | safe) | format(seat)",
        "[seat, seat] | join('<br>' | safe)",
        "('<b>x</b>' | safe) | replace('x', seat)",
        "seat | urlize",
        "{'title': seat} | xmlattr",
        "('<b>' | safe) ~ (seat | e)",
    ],
)
@pytest.mark.parametrize("markup", [True, False])
def test_by_no_filter_of_a_template_control_codes_or_a_marker_line_get_into_a_letter(
    expression: str, markup: bool, tmp_path: Path
) -> None:
    data = f"A\x1b[2J\u202eB {MARKER} \ud800C"
    template = environment(tmp_path, None, markup).from_string(f"{{{{ {expression} }}}}")
    shown = template.render(seat=data)
    assert not any(sign in shown for sign in "\x1b\u202e\ud800")
    assert "#-" not in typography.folded(shown)
    assert "[2JB" in shown


def test_a_marker_of_ours_stays_one_whatever_filter_it_goes_through(tmp_path: Path) -> None:
    for expression in ("line", "line | e", "line | forceescape", "line | safe"):
        template = environment(tmp_path, None, True).from_string(f"{{{{ {expression} }}}}")
        assert template.render(line=Ours(MARKER)) == MARKER


def test_wrap_fills_lines_and_breaks_only_words_wider_than_the_text() -> None:
    assert wrap("one two three", 9) == "one two\nthree"
    assert wrap("one two three", 9, "- ") == "- one two\n  three"
    assert wrap("a " + "x" * 80 + " y", 72) == "a\n" + "x" * 72 + "\n" + "x" * 8 + " y"
    assert wrap("a\n\nb", 72, "  ") == "  a\n\n  b"
    assert wrap("山田太郎 山田太郎", 12) == "山田太郎\n山田太郎"
    assert wrap("") == ""


def test_columns_counts_wide_letters_twice_and_marks_not_at_all() -> None:
    assert [columns(text) for text in ("abc", "山田", "e\u0301", "a\u200db")] == [3, 4, 1, 2]


def test_plural_listed_and_said() -> None:
    assert [plural(n, "army", "armies") for n in (0, 1, 2)] == ["armies", "army", "armies"]
    assert [listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    value = {"a": None, "b": [1, 2, 3], "c": {"d": True}, "e": []}
    assert said(value) == "a none, b (1, 2 and 3), c (d yes), e (none)"


def rules(css: str) -> dict[str, dict[str, str]]:
    """Return the declarations of a style sheet by selector."""
    found: dict[str, dict[str, str]] = {}
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", re.sub(r"/\*.*?\*/", "", css)):
        for selector in selectors.split(","):
            pairs = (pair.split(":", 1) for pair in body.split(";") if ":" in pair)
            got = {name.strip(): value.replace("!important", "").strip() for name, value in pairs}
            found.setdefault(" ".join(selector.split()), {}).update(got)
    return found


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as #1d4f73 (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


ME = "table.data tr.me"
PAIRS = [
    *[(name, ".card") for name in (".card", "h1", "h2", "h3", "a", ".over", "table.data th")],
    *[(name, ground) for name in (".muted", ".good", ".bad") for ground in (".card", ".due", ME)],
    *[(name, "body") for name in ("body", ".marker", ".foot")],
    *[(name, name) for name in (".due", ME, "pre", ".key", ".tile")],
    ("blockquote", ".card"),
]


@pytest.mark.parametrize("screen", ["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_colours_have_contrast_of_4_5_on_light_and_dark_screens(
    screen: str, text: str, ground: str
) -> None:
    css = (TEMPLATES / "shared" / "style.css").read_text()
    before, _, after = css.partition("@media (prefers-color-scheme: dark) {")
    styles = rules(before.partition("@media")[0] if screen == "light" else after)
    assert contrast(styles[text]["color"], styles[ground]["background-color"]) >= 4.5


def test_every_light_colour_has_a_dark_twin() -> None:
    css = (TEMPLATES / "shared" / "style.css").read_text()
    before, _, after = css.partition("@media (prefers-color-scheme: dark) {")
    light, dark = rules(before.partition("@media")[0]), rules(after)
    for selector, found in light.items():
        for name in ("color", "background-color"):
            if name in found and selector != ".picture img":
                assert name in dark.get(selector, {}), (selector, name)


@pytest.mark.parametrize("markup", [True, False])
@pytest.mark.parametrize(
    ("value", "plain", "escaped"),
    [
        ("Ann, C7: 3 (of 4) 'x", "Ann, C7: 3 (of 4) 'x", "Ann, C7: 3 (of 4) &#39;x"),
        ('<b a="1">&', '<b a="1">&', "&lt;b a=&#34;1&#34;&gt;&amp;"),
        ("##- Orders", "#+- Orders", "#+- Orders"),
        ("#0072B2 a#b ##1", "#0072B2 a#b ##1", "#0072B2 a#b ##1"),
        ("a\n\tb\r#", "a\n\tb#", "a\n\tb#"),
        ("#\u200c- #－", "+- +－", "+- +－"),
        ("a\x1b[2Jb\u202ec…", "a[2Jbc…", "a[2Jbc…"),
        (Markup("<i>#-\x1b</i>"), "<i>#-\x1b</i>", "<i>#-\x1b</i>"),
        (Ours("##- <ours>"), "##- <ours>", "##- &lt;ours&gt;"),
        (7, "7", "7"),
        (0.5, "0.5", "0.5"),
        (True, "True", "True"),
        (None, "None", "None"),
        (["<x>"], "['<x>']", "[&#39;&lt;x&gt;&#39;]"),
    ],
)
def test_values_are_printed_without_what_no_letter_may_hold(
    value: Any, plain: str, escaped: str, markup: bool
) -> None:
    template = environment(None, None, markup).from_string("{{ value }}|{% set a = value %}{{ a }}")
    shown = escaped if markup else plain
    assert template.render(value=value) == f"{shown}|{shown}"


def test_a_part_of_a_template_may_escape_otherwise_than_the_rest() -> None:
    env = environment(None, None, True)
    source = "{% autoescape off %}{{ x }}{% endautoescape %}{{ x }}"
    assert env.from_string(source).render(x="<\x1b#-", off=False) == "<+-&lt;+-"
    fixed = "{% autoescape false %}{{ x }}{% endautoescape %}{{ x }}"
    assert env.from_string(fixed).render(x="<\x1b#-") == "<+-&lt;+-"
