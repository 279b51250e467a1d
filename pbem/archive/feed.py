"""Feeds: the turns of a match, or of all, as Atom (RFC 4287), an entry a turn.

Ids are made from a match's name and the hash of its seed: they stay the same wherever the archive
is copied, and when a turn is taken back and run again.
"""

import re
from collections.abc import Sequence
from uuid import NAMESPACE_OID, uuid5
from xml.sax.saxutils import escape, quoteattr

from pbem.game import Json
from pbem.reports.templates import printable

# A feed tells what is new: readers keep what they have seen.
MOST_ENTRIES = 50
# What XML can't hold (XML 1.0, 2.2), beyond what no page of ours does.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def feed(title: str, place: str, entries: Sequence[Json], url: str, author: str) -> bytes:
    """Write a feed; `place` is the folder it stands in (`""` or `match/`), `url` the archive's
    address where it is known.

    Each entry has `id` (what it is made from), `href` (from the archive's folder), `title`,
    `updated` and `match`. Without `url` links are relative to the feed (RFC 4287, 2).
    """
    newest = sorted(entries, key=lambda one: one["updated"], reverse=True)[:MOST_ENTRIES]
    updated = newest[0]["updated"] if newest else "1970-01-01T00:00:00+00:00"
    base = f"{url.rstrip('/')}/" if url else ""
    up = "" if base or not place else "../"
    home = f"{base}{place}index.html" if base else "index.html"
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{_id(place or 'all', author)}</id>",
        f"<title>{_said(title)}</title>",
        f"<updated>{updated}</updated>",
        f"<author><name>{_said(author)}</name></author>",
        "<generator>pbem</generator>",
        _link("alternate", home),
    ]
    if base:
        lines.append(_link("self", f"{base}{place}feed.xml", "application/atom+xml"))
    for one in newest:
        lines += [
            "<entry>",
            f"<id>{_id(one['id'])}</id>",
            f"<title>{_said(one['title'])}</title>",
            f"<updated>{one['updated']}</updated>",
            _link("alternate", f"{base}{up}{one['href']}"),
            f"<category term={_attribute(one['match'])}/>",
            f"<summary>{_said(one['summary'])}</summary>",
            "</entry>",
        ]
    return ("\n".join(lines) + "\n</feed>\n").encode()


def entry(record: Json, turn: Json, headline: str) -> Json:
    """Return what a feed tells of a turn."""
    name, number = record["match"], turn["number"]
    which = "set up" if number == 0 else f"turn {number}"
    return {
        "id": f"{record['seed_sha256']} {name} {number}",
        "href": f"{name}/turn-{number}.html",
        "title": f"{name}, {which}: {headline}",
        "summary": f"{record['title']}, {turn['phase']}: {headline}.",
        "updated": turn["ran"],
        "match": name,
    }


def _id(*parts: str) -> str:
    """Return a lasting id: a URN (RFC 9562) made from a name."""
    return uuid5(NAMESPACE_OID, "pbem archive " + " ".join(parts)).urn


def _link(relation: str, address: str, kind: str = "text/html") -> str:
    return f'<link rel="{relation}" type="{kind}" href={_attribute(address)}/>'


def _said(text: str) -> str:
    return escape(_NOT_XML.sub("", str(printable(text))))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("", str(printable(text))))
