"""Which ways text may take to the screen. Markdown sinks fetch remote images, so they get literals of the source and nothing else."""
from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*(ROOT / "dashboard").rglob("*.py"), *(ROOT / "pages").rglob("*.py")])

EVERY = "every argument"
LABEL = (0,), ("label", "help")
BODY = (0,), ("body", "help")
CHOICE = (0, 1), ("label", "options", "captions", "help", "format_func")
SINKS = {
    **dict.fromkeys(
        ("write", "write_stream", "latex", "metric", "toast", "error", "info", "warning", "success", "exception", "help", "echo", "iframe", "json",
         "table", "link_button", "menu_button", "tabs", "dialog", "chat_message", "chat_input", "feedback", "data_editor", "mermaid_chart", "image"),
        EVERY,
    ),
    **dict.fromkeys(("markdown", "caption", "title", "header", "subheader", "html"), BODY),
    **dict.fromkeys(
        ("badge", "button", "download_button", "form_submit_button", "checkbox", "toggle", "selectbox", "multiselect", "select_slider", "slider",
         "text_input", "text_area", "number_input", "date_input", "time_input", "datetime_input", "file_uploader", "expander", "popover", "status"),
        LABEL,
    ),
    **dict.fromkeys(("radio", "pills", "segmented_control"), CHOICE),
    "text": ((), ("help",)), "page_link": ((), ("label", "help")), "spinner": ((0,), ("text",)), "progress": ((1,), ("text",)),
}
"""Call -> what Streamlit renders as Markdown or HTML: positions and names of arguments. Options of a ``selectbox`` are plain
text; those of ``radio``, ``pills`` and ``segmented_control`` are not."""
HARMLESS = ("key", "icon", "width", "type", "gap", "border", "height")
COLUMN_SINKS = ("LinkColumn", "ImageColumn", "MarkdownColumn", "VideoColumn", "AudioColumn", "ButtonColumn", "JsonColumn")
CODE = "code"
AUDITED = {
    # (file, function): why a non-literal may stand there
    ("dashboard/components.py", "cell_button"): "figures and words of a closed set, checked by _label",
    ("dashboard/signing_prepare.py", "_choice"): "approve or reject: the words of signing_actions.CHOICES",
    ("dashboard/app.py", "<module>"): "the path of a style sheet in this package, and an icon's",
}


class Sinks(ast.NodeVisitor):
    """Finds calls of Streamlit sinks with an argument that is not written out in the source."""

    def __init__(self, file: str, constants: frozenset[str]) -> None:
        self.file, self.constants, self.found, self._function = file, constants, [], "<module>"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self._function = self._function, node.name
        self.generic_visit(node)
        self._function = outer

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        if name is not None and self._is_streamlit(node.func):
            self._check(name, node)
        self.generic_visit(node)

    @staticmethod
    def _is_streamlit(function: ast.expr) -> bool:
        """``st.x``, ``st.sidebar.x``, ``st.column_config.x`` and methods of what a container call returned (``left.button``)."""
        base = function.value if isinstance(function, ast.Attribute) else function
        while isinstance(base, ast.Attribute):
            base = base.value
        return isinstance(base, ast.Name) and base.id in ("st", "left", "right", "middle", "column", "slot", "container", "place", "bar", "box")

    def _check(self, name: str, node: ast.Call) -> None:
        if name in COLUMN_SINKS:
            self._report(node, name, "a column that loads or renders")
        if name == CODE:
            language = next((keyword.value for keyword in node.keywords if keyword.arg == "language"), None)
            if not (isinstance(language, ast.Constant) and language.value is None):
                self._report(node, name, "code needs language=None")
        for argument in self._rendered(SINKS[name], node) if name in SINKS else ():
            if not literal(argument, self.constants):
                self._report(node, name, ast.unparse(argument))

    @staticmethod
    def _rendered(rule: object, node: ast.Call) -> Iterator[ast.expr]:
        if rule == EVERY:
            yield from node.args
            yield from (keyword.value for keyword in node.keywords if keyword.arg not in HARMLESS)
            return
        positions, names = rule
        yield from (argument for place, argument in enumerate(node.args) if place in positions or isinstance(argument, ast.Starred))
        yield from (keyword.value for keyword in node.keywords if keyword.arg in names or keyword.arg is None)

    def _report(self, node: ast.Call, name: str, what: str) -> None:
        if (self.file, self._function) not in AUDITED:
            self.found.append(f"{self.file}:{node.lineno} st.{name}: {what}")


def literal(node: ast.expr, constants: frozenset[str] = frozenset()) -> bool:
    """Strings, numbers and None of the source, constants that hold them, lists of them, and a choice between two of them."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        return node.id in constants
    if isinstance(node, ast.Starred):
        return literal(node.value, constants)
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(literal(item, constants) for item in node.elts)
    return isinstance(node, ast.IfExp) and literal(node.body, constants) and literal(node.orelse, constants)


def constants_of(tree: ast.Module) -> frozenset[str]:
    """Module constants (upper case, assigned once) that hold literals."""
    found: set[str] = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) else [node.value]
            found |= {
                name.id for name, value in zip(names, values, strict=False)
                if isinstance(name, ast.Name) and name.id.isupper() and value is not None and literal(value, frozenset(found))
            }
    stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return frozenset(name for name in found if stored.count(name) == 1)


def imported_constants(tree: ast.Module) -> frozenset[str]:
    """Such constants of other modules of the dashboard, by the name they have here."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dashboard."):
            path = ROOT / f"{node.module.replace('.', '/')}.py"
            there = constants_of(ast.parse(path.read_text("utf-8"))) if path.is_file() else frozenset()
            names |= {name.asname or name.name for name in node.names if name.name in there}
    return frozenset(names)


def violations(text: str, file: str = "pages/x.py") -> list[str]:
    tree = ast.parse(text)
    found = Sinks(file, constants_of(tree) | imported_constants(tree))
    found.visit(tree)
    return found.found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_from_outside_goes_into_a_markdown_sink(path: Path) -> None:
    assert violations(path.read_text("utf-8"), str(path.relative_to(ROOT))) == []


@pytest.mark.parametrize("text", [
    "st.markdown(name)", "st.markdown(f'**{name}**')", "st.write('a', name)", "st.caption(f'{n} pairs')", "st.metric('Kappa', value)",
    "st.title('x' + name)", "st.error(str(error))", "st.toast(name)", "st.button(name)", "st.button('ok', help=name)", "st.table(rows)",
    "st.radio('Reason', reasons)", "st.segmented_control('x', ['a'], format_func=label)", "st.expander(name)", "st.tabs(names)",
    "st.sidebar.markdown(name)", "st.code(text)", "st.code(text, language='python')", "st.html(text)", "st.page_link(page, label=name)",
    "left.markdown(name)", "st.column_config.MarkdownColumn()", "st.text(x, help=name)", "st.button(**given)", "st.popover(name)",
    "NAME = given()\nst.markdown(NAME)", "NAME = 'a'\nfor NAME in names: st.markdown(NAME)", "st.download_button(name, data)",
])
def test_the_lint_would_see_it(text: str) -> None:
    assert violations(text)


@pytest.mark.parametrize("text", [
    "st.text(name)", "st.code(name, language=None, wrap_lines=True)", "st.markdown('a **literal**')", "st.button('Ingest', key=key)",
    "st.selectbox('Round', options)", "st.button('Show all' if short else 'Show less')", "st.dataframe(rows)", "re.match(a, b).group()",
    "ONE, OTHER = 'a', 'b'\nst.segmented_control('x', [ONE, OTHER])", "st.download_button('Download', data)",
])
def test_the_lint_lets_silent_sinks_pass(text: str) -> None:
    assert not violations(text)


def test_what_is_audited_is_still_there() -> None:
    for file, function in AUDITED:
        tree = ast.parse((ROOT / file).read_text("utf-8"))
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)} | {"<module>"}
        assert function in names


def test_streamlit_is_called_by_its_one_name() -> None:
    # the lint follows "st."; another name for the module, or a function taken out of it, would pass it by
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert all(name.name != "streamlit" or name.asname == "st" for name in node.names), path
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "streamlit":
                assert {name.name for name in node.names} <= {"config"}, path


def test_the_scripts_of_components_build_no_html_from_text() -> None:
    scripts = sorted((ROOT / "dashboard" / "static").rglob("*.js"))
    assert scripts
    banned = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|eval\(|new Function|setHTML|srcdoc",
    )
    for path in scripts:
        assert not banned.search(path.read_text("utf-8")), path


def test_a_link_of_a_sheet_stays_in_this_application() -> None:
    script = (ROOT / "dashboard" / "static" / "sheet.js").read_text("utf-8")
    assert script.count('setAttribute("href"') == 1
    guard = re.search(r"if \(typeof span\.href === \"string\" && /(.+?)/\.test\(span\.href\)\)", script)
    assert guard
    allowed = re.compile(guard.group(1))
    for good in ("?round=abc", "judges?round=abc&judge=x", "sign-off?round=abc", "overview?"):
        assert allowed.match(good), good
    for bad in ("javascript:alert(1)", "http://evil.example/?", "//evil.example/?", "data:text/html,?", "\tjavascript:x?", "/?", "a/b?"):
        assert not allowed.match(bad), bad
