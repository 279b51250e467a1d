"""Letters in words and pictures: from facts through templates to the bytes of a message.

`words(kind, facts, folder)` writes a letter, `mime(words, envelope)` makes a message of it,
`picture(svg)` draws, `rules(game, options)` gives the rules alone. The templates of a kind stand
in `templates/<kind>/`.

Facts every kind takes: `match`, `title` (the game's), `game` (its key), `seat` (the reader's, or
`None`), `person` (the reader's name), `deadline` (`None`, or `day`, `time`, `offset`, `zone`,
`left`, `when` as the reader is to see them, and `utc` in ISO 8601). May be left out: `due` (whether
the reader has anything to decide: true), `notes` (sentences), `press` (each `by`, `to`, `text`),
`sections` (each `title`, `text`: answers to STATUS, HELP, RULES), `token_line`, `gm` (whether the
reader is the match's game master: false). There only where they are true: `copy` (it is sent again
of a turn long gone), `inherited` (somebody else has played the turn on the reader's seat),
`digested` (it is told in a digest, as text).

What each kind takes besides:
- `report`: `seats`, `turn`, `phase`, `view`, `page`, `events`, `options`; where there is a deadline
  `address` (the match's mail address) and `written` (now, ISO 8601), for the calendar.
- `welcome`: what a report takes, and `players` (each `seat`, `person`), `seed_hash`. May be left
  out: `takes_over` (whether the reader is given the seat later on: false). There only where it is
  true: `is_back` (it was his before, and nobody else's meanwhile).
- `over`: what a report takes, and `winners`, `seed_hash`, `seed` and `orders_hash` (`None` where
  they stay secret).
- `receipt`: `outcome`, `number`, `lines` (each `number`, `text`, `understood` or `None`, `problem`
  or `None`), `sheet` (lines; `None`: unchanged), `answers` (`subject`, `date`, `message_id`,
  `received`). May be left out: `late` (whether it was), `why` (a sentence), `forecast` (events);
  with a forecast, what a report takes.
- `confirm`: `sender` (address), `answers` and `sheet`, as a receipt. May be left out: `is_known`
  (whether the sender is the reader's own address: false), `is_single` (whether there is one sender:
  true).
- `deadline`: `why` (a sentence, or empty); `address`, `written` as a report. For one that moved.
  May be left out: `undone` (the first and the last of the turns that were taken back).
- `reminder`: what a report takes, for the order form.
- `join`, `address`: nothing; they ask an address we don't know whether it's meant.
- `press`: `press`.
- `digest`: `sections`, a letter each.
- `notice`: `about` (the subject), `sentences`, `remedies`.

A game's own parts (`headline.txt`, `report.txt`, `report.html`, `form.txt`, `rules.txt`,
`picture.svg`, `picture.txt`, `forecast.txt`, `reader.html`) stand in `templates/<key>/`, for a game
of another package in the folder `templates/<key>/` of that package; those missing are made up in
`templates/game/`. A template calls `part("form.txt")` for one of them as text, and `drawn()` for
the picture, which then goes along. `once("hexem/steps.txt")` includes, as text, what says the same
to all readers; it is rendered again only where a fact that it names has changed. So is
`once("hexem/standings.html")`, whole elements of markup, which is given its styles by itself: no
rule of the sheet may count on what stands around it. What is the reader's own in it is told by a
class with the seat's number, as `of-2`, for which `reader.html` has rules.
"""

from pbem.reports.drawing import picture
from pbem.reports.letters import rules, words
from pbem.reports.templates import TemplateFault, reread
from pbem.reports.wire import Envelope, Picture, Words, mime

__all__ = [
    "Envelope",
    "Picture",
    "TemplateFault",
    "Words",
    "mime",
    "picture",
    "reread",
    "rules",
    "words",
]
