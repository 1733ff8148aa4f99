"""The literal gate: no number that steers a decision may stand in the code.

``ZeroHardcodedValuesAstGate`` reads the syntax tree of each Python file (and the text of each SQL file) of the
operational packages and reports every number outside the allow-list of ``literal_policy.json``; the rules are in
``literal_rules``. Modules named there as formula modules are exempt, each with its reason. The gate scans the packages
where they would be imported from, so an installed wheel is judged by the files it runs. Its result, and the digest of
the code that ran, go into every assessment.
"""
from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NoReturn

from core.canonical import canonical_digest, parse_json, sha256_hex
from core.errors import CountersignError, Where
from core.literal_rules import Finding, python_findings, sql_findings
from core.version import ENGINE_VERSION

POLICY_PATH: Final = Path(__file__).parent / "literal_policy.json"
_SCANNED_SUFFIXES: Final = (".py", ".sql")
_CODE_SUFFIXES: Final = (".py", ".json", ".sql")
_UNPARSED: Final = "the file does not parse, so nothing in it was checked"
_LINKED: Final = "a symbolic link to a folder, so nothing in it was checked"
_ABSENT: Final = "the package is not installed, so nothing in it was checked"


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One hidden number. ``path`` is relative to the folder above the package; ``line`` and ``column`` count from 1;
    ``enclosing`` is the dotted function or class, or ``<module>``."""

    path: str
    line: int
    column: int
    literal: str
    enclosing: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.literal} in {self.enclosing}: {self.reason}"


@dataclass(frozen=True, slots=True)
class LiteralPolicy:
    """What the gate allows: numbers, formula modules with the reason of each, and the names of number parsers."""

    allowed: frozenset[float]
    formula_modules: dict[str, str]
    number_parsers: frozenset[str]
    scanned: tuple[str, ...]
    digest: str

    @classmethod
    def load(cls, path: Path = POLICY_PATH) -> LiteralPolicy:
        """Read a policy file; its digest is SHA-256 over its RFC 8785 bytes."""
        document = parse_json(path.read_bytes(), where=Where(path.name), error=CountersignError)
        return cls(
            frozenset(document["allowed_numbers"]), dict(document["formula_modules"]), frozenset(document["number_parsers"]),
            tuple(document["scanned"]), canonical_digest(document),
        )


@dataclass(frozen=True, slots=True)
class LiteralGateResult:
    """What one run of the gate saw: ``files`` scanned, ``violations`` in order of path, line and column."""

    policy_digest: str
    files: int
    violations: tuple[Violation, ...]

    @property
    def passed(self) -> bool:
        """No violation, and something was scanned."""
        return not self.violations and self.files > 0

    def as_dict(self) -> dict[str, Any]:
        """JSON members, as an assessment and a statement carry them."""
        return {
            "passed": self.passed, "policy_digest": self.policy_digest, "files": self.files,
            "violations": [asdict(item) for item in self.violations],
        }


@dataclass(frozen=True, slots=True)
class CodeIdentity:
    """The code that runs: engine version, digest of the engine's files, result of the literal gate."""

    engine_version: str
    code_digest: str
    literal_gate: LiteralGateResult


class ZeroHardcodedValuesAstGate:
    """Finds numbers outside the policy. ``policy``: the shipped one unless given."""

    def __init__(self, policy: LiteralPolicy | None = None) -> None:
        self.policy = policy or LiteralPolicy.load()

    def scan(self, directory: Path | str) -> LiteralGateResult:
        """Scan one folder and all below it. Raises CountersignError when it is missing or holds no Python file."""
        folder = Path(directory).absolute()
        if not folder.is_dir():
            _refuse("nothing_to_scan", "a folder with Python files", f"no folder {folder.name!r}", folder)
        files = sorted(_files(folder, _SCANNED_SUFFIXES))
        if not any(file.suffix == ".py" for file in files):
            _refuse("nothing_to_scan", "a folder with Python files", "no Python file in it", folder)
        root = _root_of(folder, self.policy.scanned)
        found = [item for file in files for item in self._file(file, file.relative_to(root).as_posix())]
        links = [Violation(link.relative_to(root).as_posix(), 1, 1, link.name, "<module>", _LINKED) for link in _linked_folders(folder)]
        return LiteralGateResult(self.policy.digest, len(files), tuple(sorted([*found, *links])))

    def scan_packages(self) -> LiteralGateResult:
        """Scan the policy's packages where they would be imported from; a package that cannot be found is a violation."""
        files, violations = 0, []
        for name in self.policy.scanned:
            folders = _package_folders(name)
            if not folders:
                violations.append(Violation(name, 1, 1, name, "<module>", _ABSENT))
            for folder in folders:
                result = self.scan(folder)
                files, violations = files + result.files, [*violations, *result.violations]
        return LiteralGateResult(self.policy.digest, files, tuple(sorted(violations)))

    def _file(self, file: Path, path: str) -> list[Violation]:
        try:
            findings = self._findings(file, exempt=path in self.policy.formula_modules)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
            line = getattr(problem, "lineno", None) or 1
            return [Violation(path, line, getattr(problem, "offset", None) or 1, type(problem).__name__, "<module>", _UNPARSED)]
        return [Violation(path, item.line, item.column, item.literal, item.enclosing, item.reason) for item in findings]

    def _findings(self, file: Path, *, exempt: bool) -> list[Finding]:
        data = file.read_bytes()
        if file.suffix == ".sql":
            return [] if exempt else sql_findings(data.decode("utf-8"), file.stem, self.policy.allowed)
        tree = ast.parse(data, file.name)
        # a formula module must parse as well: a file that nobody can read is never fine
        return [] if exempt else python_findings(tree, data.decode("utf-8-sig"), self.policy.allowed, self.policy.number_parsers)


def scan_directory_for_hardcoded_values(directory: Path | str) -> list[Violation]:
    """Hidden numbers below a folder, sorted by path, line and column, under the shipped policy.

    Raises CountersignError when the folder is missing or holds no Python file. ``ZeroHardcodedValuesAstGate.scan``
    gives the same list with the number of files scanned.
    """
    return list(ZeroHardcodedValuesAstGate().scan(directory).violations)


@lru_cache(maxsize=1)
def run_literal_gate() -> LiteralGateResult:
    """The gate over core, dashboard and pages as they are installed; once a process."""
    return ZeroHardcodedValuesAstGate().scan_packages()


@lru_cache(maxsize=1)
def code_digest() -> str:
    """SHA-256 over the RFC 8785 bytes of {path: sha256} of the engine's Python, JSON and SQL files; once a process."""
    root = Path(__file__).parent
    return canonical_digest({file.relative_to(root.parent).as_posix(): sha256_hex(file.read_bytes()) for file in _files(root, _CODE_SUFFIXES)})


def code_identity() -> CodeIdentity:
    """Version, code digest and literal-gate result of the engine that runs; the costly parts once a process."""
    return CodeIdentity(ENGINE_VERSION, code_digest(), run_literal_gate())


def _refuse(code: str, expected: str, got: str, folder: Path) -> NoReturn:
    raise CountersignError(code, expected=expected, got=got, remedy="name the folder of a package", where=Where(folder.name))


def _files(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names if name.endswith(suffixes))


def _linked_folders(folder: Path) -> Iterator[Path]:
    for parent, folders, _ in os.walk(folder):
        yield from (Path(parent, name) for name in folders if Path(parent, name).is_symlink())


def _root_of(folder: Path, packages: tuple[str, ...]) -> Path:
    """The folder that paths are relative to: above the outermost scanned package around ``folder``, else ``folder``."""
    for parent in reversed([folder, *folder.parents]):
        if parent.name in packages and (parent / "__init__.py").is_file():
            return parent.parent
    return folder


def _package_folders(name: str) -> list[Path]:
    """Where a package would be imported from, without importing it."""
    spec = find_spec(name)
    return [Path(item) for item in spec.submodule_search_locations or ()] if spec is not None else []
