"""The words of a letter: its kind's templates, rendered with the facts of match, seat and turn."""

from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbem.marker import FORM_BEGIN, FORM_END, MARKER
from pbem.reports.calendar import calendar
from pbem.reports.drawing import picture, width
from pbem.reports.templates import Ours, TemplateFault, environment, render
from pbem.reports.wire import Picture, Words, one_line

if TYPE_CHECKING:
    from css_inline import CSSInliner

LONGEST_SUBJECT = 200

# The letters that tell of a new deadline, and so bring it for the calendar.
_WITH_CALENDAR = ("welcome", "report", "deadline")

# Facts that a letter can do without, and what they are then.
_LEFT_OUT: Mapping[str, Any] = {
    "deadline": None,
    "due": True,
    "notes": (),
    "press": (),
    "sections": (),
    "forecast": None,
    "late": False,
    "is_known": False,
    "is_single": True,
    "gm": False,
    "why": "",
    "takes_over": False,
    "token_line": "",
    "events": (),
    "game": None,
    "remedies": (),
    "match": "",
    "seat": None,
}


def words(kind: str, facts: Mapping[str, Any], folder: Path | None = None) -> Words:
    """Write a letter of a kind from its facts; a GM's `folder` of templates is looked in first.

    Raise `TemplateFault` where a template is broken, or wants a fact that isn't there.
    """
    game = facts.get("game")
    plain, markup = environment(folder, game, False), environment(folder, game, True)
    pictures: list[Picture] = []
    ours = {
        "marker": Ours(MARKER),
        "form_begin": Ours(FORM_BEGIN),
        "form_end": Ours(FORM_END),
    }
    context = _with_parts({**ours, **facts}, folder)

    def drawn() -> dict[str, Any] | None:
        """Draw the game's picture, if it has one; the letter takes it along."""
        svg = render(markup, (f"{game}/picture.svg",), context, once=True)
        if not svg.strip():
            return None
        alt = render(plain, _own(game, "picture.txt"), context, once=True)
        try:
            made = _pictured(svg, alt)
        except ValueError as error:
            raise TemplateFault(f"{game}/picture.svg can't be drawn: {error}") from error
        if made not in pictures:
            pictures.append(made)
        return {"cid": made.cid, "alt": made.alt, "width": width(made.png)}

    context["drawn"] = drawn
    apart: dict[str, str] = {}
    context["apart"] = apart
    subject = one_line(render(plain, f"{kind}/subject.txt", context))
    text = _tidy(render(plain, f"{kind}/body.txt", context))
    html = render(markup, (f"{kind}/body.html",), context)
    # Only where something has a place in it.
    sheet = render(markup, "shared/style.css", context, once=True) if apart else ""
    tells = kind in _WITH_CALENDAR and context["deadline"] is not None and context["due"]
    summary = f"{facts.get('title')}: orders due in {facts.get('match')}"
    return Words(
        _shortened(subject),
        text,
        _inlined(html, sheet, apart) if html else None,
        tuple(pictures),
        calendar(facts, summary) if tells else None,
    )


@lru_cache(maxsize=4)
def _pictured(svg: str, alt: str) -> Picture:
    """Draw a picture for letters, once for all readers who are shown the same."""
    png = picture(svg.strip())
    return Picture(f"{sha256(png).hexdigest()[:24]}@pbem", png, " ".join(alt.split()))


def _with_parts(facts: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return the context of a game's templates: facts, and `part` for another template of it."""
    game = facts.get("game")
    plain = environment(folder, game, False)
    context = {**_LEFT_OUT, **facts}

    def part(name: str, **more: Any) -> str:
        """Render one of the game's own templates as plain text; the general one if it has none."""
        return rendered(name, {**context, **more}) if more else known(name)

    def rendered(name: str, facts: Mapping[str, Any]) -> str:
        return render(plain, _own(game, name), facts).strip("\n")

    # Subject, text and markup have some parts in common.
    known = cache(lambda name: rendered(name, context))
    context["part"] = part
    return context


def _own(game: str | None, name: str) -> tuple[str, str]:
    """Return where a game's own part is looked for: the general one serves who has none."""
    return f"{game}/{name}", f"game/{name}"


def part(name: str, facts: Mapping[str, Any], folder: Path | None = None) -> str:
    """Return a game's own part of a letter as text, such as `report.txt`."""
    text: str = _with_parts(facts, folder)["part"](name)
    return _tidy(text)


def fragment(name: str, facts: Mapping[str, Any], folder: Path | None = None) -> str:
    """Return a game's own part as markup, such as `report.html` or `picture.svg`; empty where there
    is none. Every value in it is escaped."""
    game = facts["game"]
    markup = environment(folder, game, True)
    return render(markup, _own(game, name), _with_parts(facts, folder)).strip()


def rules(game: str, options: Mapping[str, Any], folder: Path | None = None) -> str:
    """Return the rules of a game as a player is sent them; empty where it brings none."""
    facts = {**_LEFT_OUT, "game": game, "options": options}
    return _tidy(render(environment(folder, game, False), (f"{game}/rules.txt",), facts))


def _inlined(html: str, sheet: str, apart: Mapping[str, str]) -> str:
    """Put the style sheet into the tags, for clients that drop it; the `@media` rules stay.

    `apart` is the markup that all readers have in common, by its place.
    """
    html = _inliner().inline(html)
    for place, part in apart.items():
        html = html.replace(place, _part_inlined(part, sheet), 1)
    return html


@lru_cache(maxsize=32)
def _part_inlined(html: str, sheet: str) -> str:
    return _inliner().inline_fragment(html, sheet)


@cache
def _inliner() -> "CSSInliner":
    from css_inline import CSSInliner

    return CSSInliner(keep_at_rules=True, load_remote_stylesheets=False)


def _tidy(text: str) -> str:
    """Drop blanks at line ends, and all but one of several empty lines."""
    if " \n" in text or "\t\n" in text:
        text = "\n".join([line.rstrip(" \t") for line in text.split("\n")])
    text = text.rstrip(" \t").strip("\n")
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text and text + "\n"


def _shortened(subject: str) -> str:
    if len(subject) <= LONGEST_SUBJECT:
        return subject
    return subject[: LONGEST_SUBJECT - 1].rstrip() + "…"
