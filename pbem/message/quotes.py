"""What of a text its writer wrote now: quotes, attributions, signatures and footers are cut.

One pass from top to bottom, in time linear in the text. When in doubt a line is cut, since an old
order carried out again is worse than one that is asked about: what was cut is kept beside it.
"""

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from pbem import typography
from pbem.marker import FORM_BEGIN, FORM_END, MARKER
from pbem.message import phrases
from pbem.message.parts import TooMuch

MOST_LINES = 20_000
# A lone `--` begins a signature only where at most so many lines come after it.
LONGEST_SIGNATURE = 15
_LONGEST_LINE = 1000

_QUOTE = re.compile(
    r"[ \t]{0,4}(?:[>»›＞]|[|}:](?=[ \t]|$)|[^\W\d_][\w.-]{0,11}>(?=[ >]))[ \t]{0,2}"
)
_LABEL = re.compile(r"[*_]{0,2}([^\W\d_][^:：<>@\d]{0,30}?)[ \xa0]{0,2}[*_]{0,2}[:：][*_]{0,2}(.*)")
_ADDRESS = re.compile(r"[^\s<>@\"(]@[^\s<>@\"()]+\w")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|(?<!\d)\d{1,2}[./-]\d{1,2}[./-]\d\d(?!\d)")
_TIME = re.compile(r"(?<!\d)\d{1,2}[:.h]\d\d(?!\d)")
_MARKS = (" ", "\t", ">", "|", "}", ":", "»", "›", "＞")
_SIGNS = ("--", "—", "–", "*--*", "*-- *", "__")
_CLOSING = ("END", "END ORDERS", "END PRESS")


class Cut(NamedTuple):
    """A text parted: its writer's own words, and what was cut, quote marks removed."""

    own: str
    quoted: str


def cut(text: str) -> Cut:
    """Part a text (its line ends are `\\n`) into its writer's own words and the rest.

    Raise `TooMuch` beyond `MOST_LINES` lines.
    """
    lines = text.count("\n")
    if lines > MOST_LINES:
        raise TooMuch(f"it has {lines} lines, more than {MOST_LINES}")
    return _Scan(_unwrapped(text).split("\n")).cut()


def _unwrapped(text: str) -> str:
    """Take an inline PGP signature from round a text, and encoded files out of it."""
    pgp = text.find("-----BEGIN PGP SIGNED MESSAGE-----")
    if pgp >= 0:
        body = text.find("\n\n", pgp)
        end = text.find("-----BEGIN PGP SIGNATURE-----", pgp)
        last = text.find("-----END PGP SIGNATURE-----", pgp)
        signed = text[body + 1 : end if end > body else None] if body >= 0 else ""
        signed = signed.replace("\n- ", "\n")
        text = text[:pgp] + signed + (text[last + 27 :] if last > 0 else "")
    if "begin " in text and "\nend" in text:
        kept: list[str] = []
        coded = False
        for line in text.split("\n"):
            if coded:
                coded = line.strip() != "end"
            elif line.startswith("begin ") and line[6:9].isdigit():
                coded = True
            else:
                kept.append(line)
        text = "\n".join(kept)
    return text


class _Scan:
    """One pass over the lines of a text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.plain: list[str] = []
        self.depths: list[int] = []
        for line in lines:
            depth, rest = _unquoted(line)
            self.depths.append(depth)
            self.plain.append(rest)
        # Segments of the writer's own lines, by their numbers; a quote lies between two.
        self.segments: list[list[int]] = [[]]
        self.forms: set[int] = set()
        self.mails = 0

    def cut(self) -> Cut:
        self._pass()
        first = next((at for part in self.segments for at in part if self.plain[at].strip()), 0)
        own = {at for segment in self.segments for at in self._unsigned(segment, first)}
        own |= self.forms
        return Cut(
            "\n".join(self.plain[at] for at in sorted(own)).strip("\n"),
            "\n".join(line for at, line in enumerate(self.plain) if at not in own).strip("\n"),
        )

    def _pass(self) -> None:
        at, old = 0, False
        while at < len(self.lines):
            line, depth = self.plain[at], self.depths[at]
            if line.startswith("#--") and _same(line, FORM_BEGIN):
                at = self._form(at, depth)
                continue
            if depth:
                self._part()
            elif _is_marker(line):
                old = True
            elif (end := self._old_mail(at)) > at:
                self.mails += 1
                old = old or not self._is_quoted(end)
                at = end
                continue
            elif old:
                pass
            elif (start := self._attribution(at)) is not None:
                marked = self._is_quoted(at + 1)
                if marked or self._next(at + 1) < len(self.lines):
                    del self.segments[-1][len(self.segments[-1]) - (at - start) :]
                    self._part()
                    self.mails += 1
                    old = not marked
                else:
                    self.segments[-1].append(at)
            elif not _is_trailer(line):
                self.segments[-1].append(at)
            at += 1

    def _part(self) -> None:
        if self.segments[-1]:
            self.segments.append([])

    def _form(self, begin: int, depth: int) -> int:
        """Keep the lines of an order form, unless it came with a mail quoted in another."""
        end = begin + 1
        while end < len(self.lines) and self.depths[end] == depth:
            if _same(self.plain[end], FORM_END):
                break
            end += 1
        if depth <= 1 and self.mails <= 1 and not self.forms:
            self.forms = set(range(begin + 1, end))
        return end

    def _next(self, at: int) -> int:
        """Return the next line from `at` that isn't blank, at most three on."""
        for ahead in range(at, min(at + 4, len(self.lines))):
            if self.depths[ahead] or self.plain[ahead].strip():
                return ahead
        return len(self.lines)

    def _is_quoted(self, at: int) -> bool:
        ahead = self._next(at)
        return ahead < len(self.lines) and self.depths[ahead] > 0

    def _old_mail(self, at: int) -> int:
        """Return where the head of an old mail that begins at `at` ends; `at` if none does."""
        line = self.plain[at].strip()
        if not line:
            return at
        if line[0] in "-_=*" or not line[0].isascii():
            words = line.strip("-_=*#> \xa0").lower()
            ruled = line[:2] in ("--", "__", "==", "**", "—-", "——", "––")
            if ruled and not words:
                ahead = self._next(at + 1)
                block = self._block(ahead, 3)
                if block > ahead:
                    return block
                return len(self.lines) if self._is_footer(ahead) else at
            if ruled:
                ahead = self._next(at + 1)
                block = self._block(ahead, 2)
                if block > ahead or any(phrase in words for phrase in phrases.OLD_MAIL):
                    return max(block, at + 1)
        if line[-1] in ":：" and line.lower().startswith(phrases.FORWARDS):
            return max(self._block(self._next(at + 1), 2), at + 1)
        return self._block(at, 3)

    def _is_footer(self, at: int) -> bool:
        """Tell whether a list server's footer stands at `at` and the lines after it."""
        said = " ".join(self.plain[at : at + 3])[:_LONGEST_LINE].lower()
        return any(phrase in said for phrase in phrases.LIST_FOOTERS)

    def _block(self, at: int, least: int) -> int:
        """Return where a block of From, Sent, To, Subject lines ends, in any language.

        At least so many different labels that we know, or (labels of an unknown language) three
        lines of which one holds an address and one a date. A blank line may part two.
        """
        known: set[str] = set()
        labels, dated, addressed = 0, False, False
        end = here = at
        while here < len(self.lines) and here - at < 24 and not self.depths[here]:
            line = self.plain[here].strip()[:_LONGEST_LINE]
            label = _LABEL.match(line) if ":" in line[:40] or "：" in line[:40] else None
            if label:
                said = label[1].strip(" *_").lower()
                field = phrases.LABELS.get(said)
                if field in known - {"other"} or not (field or label[2].strip()):
                    break
                if not (known or field or ("@" in line or 0 < labels < 8)):
                    break
                if field:
                    known.add(field)
                labels += 1
                addressed = addressed or bool(_ADDRESS.search(label[2]))
                dated = dated or bool(_YEAR.search(label[2]))
                end = here + 1
            elif line and labels and "@" in line:
                # A long list of recipients goes on in the next line.
                pass
            elif line or not labels or not self.plain[here - 1].strip():
                break
            here += 1
        if len(known - {"other"}) >= least or (labels >= 3 and addressed and dated):
            return end
        return at

    def _attribution(self, at: int) -> int | None:
        """Return where an attribution (`On … wrote:`) that ends in line `at` begins, or `None`."""
        end = typography.visible(self.plain[at][-40:]).rstrip()
        if not end or end[-1] not in ":：":
            return None
        for start in range(at, max(-1, at - 4), -1):
            if self.depths[start] or not self.plain[start].strip():
                return None
            if self._evidence(start, at) >= 2:
                above = self.plain[start - 1] if start else ""
                if start and not self.depths[start - 1] and self.segments[-1][-1:] == [start - 1]:
                    goes_on = above.rstrip().endswith(("<", ",")) and _YEAR.search(above[:300])
                    return start - 1 if goes_on else start
                return start
        return None

    def _evidence(self, start: int, at: int) -> int:
        said = typography.visible(" ".join(self.plain[start : at + 1])[:_LONGEST_LINE]).lower()
        dated = _YEAR.search(said) and (_TIME.search(said) or re.search(r"\d\D+\d", said))
        return (
            bool(_ADDRESS.search(said)) + bool(dated) + any(verb in said for verb in phrases.WROTE)
        )

    def _unsigned(self, segment: Sequence[int], first: int) -> list[int]:
        """Return the lines of a segment without signature and disclaimer.

        Nothing is cut from the top of a mail (its first line is `first`), nor above an `END` line.
        """
        closed = max(
            (i for i, at in enumerate(segment) if self.plain[at].strip().upper() in _CLOSING),
            default=-1,
        )
        last = len(segment)
        for i in range(closed + 1, len(segment)):
            if segment[i] > first and self._is_sign(segment, i):
                last = i
                break
        kept = list(segment[: closed + 1])
        paragraph: list[int] = []
        for at in segment[closed + 1 : last]:
            if self.plain[at].strip():
                paragraph.append(at)
                continue
            kept += [*self._undisclaimed(paragraph), at]
            paragraph = []
        return kept + self._undisclaimed(paragraph)

    def _is_sign(self, segment: Sequence[int], i: int) -> bool:
        """Tell whether a signature begins at the `i`-th line of a segment."""
        line = self.lines[segment[i]]
        if line == "-- ":
            return True
        if line.strip() not in _SIGNS:
            return False
        after = (k for k in range(i + 1, len(segment)) if self.plain[segment[k]].strip())
        return sum(1 for _ in islice(after, LONGEST_SIGNATURE + 1)) <= LONGEST_SIGNATURE

    def _undisclaimed(self, paragraph: list[int]) -> list[int]:
        """Return a paragraph up to where a disclaimer begins in it."""
        if len(paragraph) > 40:
            return paragraph
        said = [self.plain[at][:_LONGEST_LINE].lower() for at in paragraph]
        if sum(map(len, said)) < 100:
            return paragraph
        whole = " ".join(said)
        hits = [phrase for phrase in phrases.DISCLAIMER if phrase in whole]
        if len(hits) < 2:
            return paragraph
        return paragraph[: next((i for i, s in enumerate(said) if any(h in s for h in hits)), 0)]


def _unquoted(line: str) -> tuple[int, str]:
    """Return the depth of a line's quote marks, and the line without them."""
    if line[:1] not in _MARKS and ">" not in line[:14]:
        return 0, line
    if line.startswith(">From "):
        # Not quoted: a mailbox file writes so what would begin a mail in it.
        return 0, line[1:]
    depth = at = 0
    while depth < 50 and (mark := _QUOTE.match(line, at)):
        depth, at = depth + 1, mark.end()
    return depth, line[at:].lstrip(">|:} ") if depth == 50 else line[at:]


def _same(line: str, ours: str) -> bool:
    return len(line) < 200 and typography.key(line) == typography.key(ours)


def _is_marker(line: str) -> bool:
    """Tell whether a line is our `write above this line`, whatever became of its ornaments."""
    if "above this line" not in line[:200].lower():
        return False
    return not line.strip()[0].isalnum() or _same(line, MARKER)


def _is_trailer(line: str) -> bool:
    """Tell whether a line is a mail program's word about itself."""
    return line.lstrip("*_ \t\xa0")[:40].lower().startswith(phrases.TRAILERS)
