"""Order words of other languages: data of a grammar, read like the words they stand for."""

import pytest

from pbem import game


@pytest.mark.parametrize(
    ("key", "line", "meant"),
    [
        ("hexem", "Сбор A2 b1", "MUSTER A2 B1"),
        ("hexem", "СТАВКА x 3", "BID x 3"),
        ("empires", "Ставлю Romans - 30", "BID Romans 30"),
        ("empires", "предпочитаю Huns, Goths", "PREFER Huns, Goths"),
        ("alphabet", "Обмен с Olle даю A получаю £5", "TRADE WITH Olle GIVE A GET £5"),
        ("offices", "Взять Consul до 3", "TAKE Consul UP TO 3"),
        ("offices", "- Беру 5", "TAKE 5"),
        ("offices", "Защита до 4", "DEFEND UP TO 4"),
        ("offices", "товар жёлтый", "GOOD yellow"),
    ],
)
def test_russian_verbs_are_read_as_the_words_they_stand_for(
    key: str, line: str, meant: str
) -> None:
    grammar = game.named(key).GRAMMAR
    (read,) = grammar.read(line).lines
    assert read.order is not None
    assert grammar.write(read.order) == meant
    # What the player wrote is echoed as he wrote it.
    assert read.text in line


def test_every_alias_stands_for_a_word_of_the_usage_lines() -> None:
    for one in game.installed().values():
        words = " ".join(rule.usage for rule in one.GRAMMAR.rules).split()
        for alias, word in one.GRAMMAR.aliases.items():
            assert alias == alias.upper()
            named = {name for of in one.GRAMMAR.packaged.values() for name in of()}
            assert set(word.split()) <= {*(w.strip("[]") for w in words), *named, "NOTHING"}


def test_a_russian_order_gone_wrong_is_asked_about_and_chat_is_not() -> None:
    grammar = game.named("offices").GRAMMAR
    assert grammar.read("Взять").problems
    assert not grammar.read("Привет, до встречи!\nС уважением, Борис").problems
