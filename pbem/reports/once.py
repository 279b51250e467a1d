"""What is the same for all readers is rendered once: a template, for as long as its facts stay.

The letters of a match are written one after the other, so what was rendered last is enough.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from jinja2.nodes import Node

# A fact by the names that lead to it: `page.picture`.
Path = tuple[str, ...]

_MISSING = object()
_METHODS = frozenset(dir(dict))


class _Rendered(NamedTuple):
    """What came of a template, and which facts it and those it calls for were shown."""

    template: "Template"
    facts: list[Any]
    text: str


_last: dict[tuple["Environment", str | None], _Rendered] = {}


def render_once(env: "Environment", template: "Template", facts: Mapping[str, Any]) -> str:
    """Render a template, or return what came of it the last time where it shows the same facts."""
    paths = _needs(env, template)
    if paths is None:
        return template.render(facts)
    values = [_fact(facts, path) for path in paths]
    last = _last.get((env, template.name))
    if last is None or last.template is not template or last.facts != values:
        last = _Rendered(template, values, template.render(facts))
        _last[env, template.name] = last
    return last.text


def _fact(facts: Mapping[str, Any], path: Path) -> Any:
    """Return the fact at the end of a path, or as far as the path leads by names alone."""
    found = facts.get(path[0], _MISSING)
    for name in path[1:]:
        if type(found) is not dict or name not in found or name in _METHODS:
            break
        found = found[name]
    return found


@lru_cache(maxsize=64)
def _needs(env: "Environment", template: "Template") -> list[Path] | None:
    """Return which facts a template and those it calls for show.

    `None` where that can't be told before it is rendered. All are loaded: where one of them has
    changed, `reread` has all loaded anew, and so the template is another.
    """
    from jinja2 import TemplateNotFound, meta, nodes

    assert env.loader is not None
    names: list[str | None] = [template.name]
    paths: dict[Path, None] = {}
    for name in names:
        if name is None:
            return None
        try:
            env.get_template(name)
            tree = env.parse(env.loader.get_source(env, name)[0])
        except TemplateNotFound:
            # One that may be missing, or else rendering says so.
            return None
        called = list(meta.find_referenced_templates(tree))
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "once":
                called.append(call.args[0].value if isinstance(call.args[0], nodes.Const) else None)
        # Some call for each other.
        names += [one for one in called if one not in names]
        given = meta.find_undeclared_variables(tree)
        paths.update((path, None) for path in _paths(tree) if path[0] in given)
    return list(paths)


def _paths(node: "Node") -> Iterator[Path]:
    """Yield the names, and names of names, that a template loads."""
    path = _path(node)
    if path:
        yield path
    else:
        for each in node.iter_child_nodes():
            yield from _paths(each)


def _path(node: "Node") -> Path:
    from jinja2 import nodes

    if isinstance(node, nodes.Name):
        return (node.name,)
    if isinstance(node, nodes.Getattr):
        before = _path(node.node)
        return (*before, node.attr) if before else ()
    return ()
