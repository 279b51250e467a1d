"""A page of the archive as the tests look at it: its tags, ids and text."""

from html.parser import HTMLParser

_VOID = {"meta", "link", "input", "img", "br", "hr", "source"}


class Page(HTMLParser):
    """What a test looks at in a page: its tags with their attributes, ids, and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text += data

    def values(self, name: str) -> list[str]:
        """Return the values of an attribute, in the order of the page."""
        return [attributes[name] for _, attributes in self.tags if name in attributes]
