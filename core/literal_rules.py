"""What counts as a number hidden in source code: the rules of the literal gate, without files and without policy.

A number that steers a decision belongs in the grid, any other constant in ``settings.json``. So besides plain numeric
constants these are found: numeric text handed to a number parser (``float("0.05")``, also under an alias, through a
name, concatenated, in a list, as JSON), a decimal standing alone as text (``"0.75"``), arithmetic on literals only
(``True + True``, ``1 << 1``, ``~1``, ``x + 1 + 1``), the size of a literal (``len("abcde")``), a byte of a bytes
literal, and numbers in SQL files.

What no rule here can see: a number assembled at run time from names or arithmetic on several lines, ``ord("x")`` (it
names a code point), constants of libraries (``math.pi``), names that imply a number (``math.sqrt``), SQL inside a
Python string, and values read from a file other than the grid. Review has to catch those.
"""
from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

_NUMBER: Final = (int, float, complex)
_DECIMAL_TEXT: Final = re.compile(r"\s*[+-]?[\d_]+(\.\d[\d_]*([eE][+-]?\d+)?|[eE][+-]?\d+|\s*/\s*[\d_]+)\s*")
_RATIO_TEXT: Final = re.compile(r"(.+)/(.+)")
_SQL_SKIPPED: Final = re.compile(r"--[^\n]*|/\*.*?\*/|\"(?:[^\"]|\"\")*\"", re.DOTALL)
_SQL_NUMBER: Final = re.compile(r"(?<![\w.$:?])(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w)|'[^']*'")
_SIZES: Final = frozenset({"len", "sum"})
_SEARCHES: Final = frozenset({"__len__", "index", "rindex", "find", "rfind", "count"})

PLAIN: Final = "a number that the policy does not allow; the grid holds decisions, settings.json the other constants"
PARSED: Final = "a number as text, given to a number parser"
TEXTUAL: Final = "a decimal number written as text"
ARITHMETIC: Final = "arithmetic on literals only, which makes a number"
SIZED: Final = "the size or content of a literal, which makes a number"
SQL: Final = "a number in SQL; bind it as a parameter"


@dataclass(frozen=True, slots=True)
class Finding:
    """One hidden number: ``line`` and ``column`` count from 1; ``enclosing`` is the dotted function or class, or ``<module>``."""

    line: int
    column: int
    literal: str
    enclosing: str
    reason: str


def number_in_text(text: str) -> complex | int | float | None:
    """The number that a parser would read from ``text``, or None. NaN and infinity are no thresholds: None."""
    stripped = text.strip()
    ratio = _RATIO_TEXT.fullmatch(stripped)
    if ratio is not None:
        top, bottom = (number_in_text(part) for part in ratio.groups())
        return None if top is None or not bottom else top / bottom
    for parse in (float, lambda digits: int(digits, 0), complex):
        try:
            value = parse(stripped)
        except (ValueError, OverflowError):
            continue
        return value if value - value == 0 else None
    return None


def numbers_in_json(text: str) -> list[str]:
    """The number tokens of a JSON text; none when it is not JSON."""
    found: list[str] = []
    try:
        json.loads(text, parse_int=found.append, parse_float=found.append)
    except (ValueError, RecursionError):
        return []
    return found


def python_findings(tree: ast.Module, source: str, allowed: Collection[float], parsers: Collection[str]) -> list[Finding]:
    """All hidden numbers of one module, in source order. ``allowed``: numbers by value; ``parsers``: names of callables."""
    nodes = list(ast.walk(tree))
    visitor = _Visitor(source, frozenset(allowed), _parser_names(nodes, parsers), _text_names(nodes))
    visitor.visit(tree)
    return sorted(visitor.findings, key=lambda item: (item.line, item.column))


def sql_findings(text: str, name: str, allowed: Collection[float]) -> list[Finding]:
    """Numbers of an SQL file outside comments and quoted identifiers; text literals only when they are a decimal."""
    blanked = _SQL_SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    found = []
    for match in _SQL_NUMBER.finditer(blanked):
        token = match.group()
        digits = token.strip("'")
        if token != digits and not _DECIMAL_TEXT.fullmatch(digits):
            continue
        if number_in_text(digits) not in allowed:
            line_start = blanked.rfind("\n", 0, match.start()) + 1
            found.append(Finding(blanked.count("\n", 0, match.start()) + 1, match.start() - line_start + 1, token, name, SQL))
    return found


def _parser_names(nodes: Iterable[ast.AST], parsers: Collection[str]) -> frozenset[str]:
    """The parsers and their aliases: ``from decimal import Decimal as D``, ``D = Decimal``."""
    names = set(parsers)
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname for alias in node.names if alias.asname is not None and alias.name in names}
        elif isinstance(node, ast.Assign) and _last_name(node.value) in names:
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(names)


def _text_names(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Names bound to a text constant anywhere in the module."""
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update({target.id: node.value.value for target in targets if isinstance(target, ast.Name)})
    return names


def _last_name(node: ast.AST | None) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _number(node: ast.AST) -> complex | int | float | None:
    """The value of a numeric constant; None for anything else, booleans included."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, _NUMBER) and not isinstance(value, bool) else None


@dataclass
class _Visitor(ast.NodeVisitor):
    source: str
    allowed: frozenset[float]
    parsers: frozenset[str]
    texts: dict[str, str]
    findings: list[Finding] = field(default_factory=list)
    scope: list[str] = field(default_factory=list)
    covered: set[int] = field(default_factory=set)

    # where we are

    def _scoped(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.scope.append(node.name)
        for name, value in ast.iter_fields(node):
            if name != "decorator_list":
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self.visit(child)
        self.scope.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._scoped(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._scoped(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scoped(node)

    def _add(self, node: ast.expr, reason: str, literal: str | None = None) -> None:
        shown = literal if literal is not None else ast.get_source_segment(self.source, node) or ast.unparse(node)
        # the syntax tree counts UTF-8 bytes, editors count characters
        before = self.source.encode().splitlines()[node.lineno - 1][:node.col_offset].decode()
        self.findings.append(Finding(node.lineno, len(before) + 1, shown, ".".join(self.scope) or "<module>", reason))

    # plain numbers and text

    def visit_Constant(self, node: ast.Constant) -> None:
        number = _number(node)
        if number is not None and number not in self.allowed:
            self._add(node, PLAIN)
        elif isinstance(node.value, str) and _DECIMAL_TEXT.fullmatch(node.value) and number_in_text(node.value) not in self.allowed:
            self._add(node, TEXTUAL)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        # the text parts and format specifications of an f-string make text, not numbers; its expressions are code
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)
                if isinstance(part.format_spec, ast.JoinedStr):
                    self.visit_JoinedStr(part.format_spec)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        number = _number(node.operand)
        if isinstance(node.op, (ast.USub, ast.UAdd)) and number is not None:
            if (-number if isinstance(node.op, ast.USub) else number) not in self.allowed:
                self._add(node, PLAIN)
        elif isinstance(node.op, ast.Invert) and self._literal_only(node.operand):
            self._add(node, ARITHMETIC)
        else:
            self.generic_visit(node)

    # arithmetic that makes a number out of allowed ones

    def _literal_only(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return isinstance(node.value, _NUMBER) and node.value in self.allowed
        if isinstance(node, ast.UnaryOp):
            return self._literal_only(node.operand)
        if isinstance(node, ast.BinOp):
            return self._literal_only(node.left) and self._literal_only(node.right)
        return isinstance(node, ast.Compare) and all(self._literal_only(item) for item in (node.left, *node.comparators))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if id(node) not in self.covered:
            terms = _terms(node)
            self.covered |= {id(item) for item in _sums(node)}
            if self._literal_only(node) or sum(self._literal_only(term) and not _is_zero(term) for term in terms) > 1:
                self._add(node, ARITHMETIC)
                for term in terms:
                    if not self._literal_only(term):
                        self.visit(term)
                return
        self.generic_visit(node)

    # calls and subscripts

    def visit_Call(self, node: ast.Call) -> None:
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if self._parser_call(node, arguments) or self._size_call(node, arguments):
            return
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bytes) and not isinstance(node.slice, ast.Slice):
            self._add(node, SIZED)
        self.generic_visit(node)

    def _parser_call(self, node: ast.Call, arguments: list[ast.expr]) -> bool:
        """float("0.05"), decimal.Decimal("1.8"), float.fromhex("0x3"), map(float, ["0.05"]), json.loads('{"a": 0.05}')."""
        owner = _last_name(node.func.value) if isinstance(node.func, ast.Attribute) else None
        name = _last_name(node.func)
        if name not in self.parsers and owner not in self.parsers and not any(_last_name(item) in self.parsers for item in arguments):
            return False
        read: Callable[[str], bool] = self._json_hides if name == "loads" else self._text_hides
        texts = [text for argument in arguments for text in self._texts_of(argument)]
        if any(read(text) for text in texts) or (texts and owner in self.parsers and name in ("fromhex", "from_bytes")):
            self._add(node, PARSED)
            return True
        return False

    def _text_hides(self, text: str) -> bool:
        value = number_in_text(text)
        return value is not None and value not in self.allowed

    def _json_hides(self, text: str) -> bool:
        return any(self._text_hides(token) for token in numbers_in_json(text))

    def _texts_of(self, node: ast.expr) -> Iterator[str]:
        """The texts an argument spells out: a constant, a concatenation, an f-string, a name, the items of a display."""
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            for item in node.elts:
                yield from self._texts_of(item)
        elif isinstance(node, ast.Starred):
            yield from self._texts_of(node.value)
        else:
            text = self._one_text(node)
            if text is not None:
                yield text

    def _one_text(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Constant):
            value = node.value
            return value if isinstance(value, str) else value.decode("latin-1") if isinstance(value, bytes) else None
        if isinstance(node, ast.Name):
            return self.texts.get(node.id)
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else node.values if isinstance(node, ast.JoinedStr) else []
        texts = [self._one_text(part) for part in parts]
        return "".join(text for text in texts if text is not None) if texts and None not in texts else None

    def _size_call(self, node: ast.Call, arguments: list[ast.expr]) -> bool:
        """len("abcde"), len((a, b)), sum([1, 1]), "abc".index("c")."""
        inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(node.func, ast.Name) and node.func.id in _SIZES and len(arguments) == 1:
            hides = _fixed_size(arguments[0]) > 1 and (node.func.id == "len" or all(map(self._literal_only, _items(arguments[0]))))
        else:
            searched = _last_name(node.func) in _SEARCHES and inner is not None and _fixed_size(inner) > 1
            hides = searched and all(isinstance(item, ast.Constant) for item in arguments)
        if hides:
            self._add(node, SIZED)
        return hides


def _sums(node: ast.expr) -> list[ast.expr]:
    """The additions and subtractions that make up one sum: for ``a + b - c`` the whole and ``a + b``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return [node, *_sums(node.left), *_sums(node.right)]
    return []


def _terms(node: ast.expr) -> list[ast.expr]:
    """The terms of a sum: a, b and c of ``a + b - c``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _items(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]


def _fixed_size(node: ast.expr) -> int:
    """How many items a literal has whatever runs; 0 when that is not known from the source."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        return len(node.value)
    if isinstance(node, ast.Dict):
        return len(node.keys)
    items = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else []
    return 0 if any(isinstance(item, ast.Starred) for item in items) else len(items)
