"""How Jinja compiles our templates: facts are looked up and printed by the shortest way there is.

Letters of a thousand matches print millions of values, nearly all of them short and plain.
"""

import re
from collections.abc import MutableMapping
from typing import Any

from jinja2 import Environment
from jinja2.compiler import CodeGenerator, Frame
from jinja2.nodes import Expr, Getattr
from markupsafe import Markup, escape

_METHODS = frozenset(dir(dict))
# ASCII without control codes and what is escaped in markup; a hash begins a colour, not a marker.
_TAME = r"[\t\n !$%(-;=?-~]*"
_is_plain = re.compile(rf"{_TAME}(?:#[0-9A-Za-z]{_TAME})*").fullmatch


class Shortest(CodeGenerator):
    """Has the environment's `shown` print values, and dictionaries asked without a call."""

    def visit_Getattr(self, node: Getattr, frame: Frame) -> None:
        """Write what finds `row.seat`: in `row` itself, where that is a plain dictionary."""
        if node.attr in _METHODS:
            super().visit_Getattr(node, frame)
            return
        name = repr(node.attr)
        self.write(f"(_of[{name}] if type(_of := ")
        self.visit(node.node, frame)
        self.write(f") is dict and {name} in _of else environment.getattr(_of, {name}))")

    def _output_child_pre(
        self, node: Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> None:
        if self._is_as_ever(frame):
            self.write("environment.shown(")
        else:
            super()._output_child_pre(node, frame, finalize)

    def _output_child_post(
        self, node: Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo
    ) -> None:
        if self._is_as_ever(frame):
            self.write(")")
        else:
            super()._output_child_post(node, frame, finalize)

    def _is_as_ever(self, frame: Frame) -> bool:
        """Tell whether values are escaped here as everywhere in the environment."""
        how = frame.eval_ctx
        return not how.volatile and how.autoescape == self.environment.autoescape


class Facts(Environment):
    """Prints facts, most of which need nothing done to them."""

    code_generator_class = Shortest

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """Return the globals of a template as a plain dictionary: each context copies it."""
        return {**self.globals, **(d or {})}

    def shown(self, value: Any) -> str:
        """Return a value as it is printed: finalized, and escaped where all is."""
        kind = type(value)
        if kind is int or kind is float:
            return str(value)
        shown: str = value
        if kind is Markup or (kind is str and (shown.isalnum() or _is_plain(shown))):
            return shown
        assert self.finalize is not None
        value = self.finalize(value)
        return escape(value) if self.autoescape else str(value)
