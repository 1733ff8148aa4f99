"""The literal gate: which numbers it finds, what it leaves alone, and that the running engine has none."""
from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.canonical import canonical_digest, sha256_hex
from core.errors import CountersignError
from core.literals import (
    LiteralPolicy,
    ZeroHardcodedValuesAstGate,
    code_digest,
    code_identity,
    run_literal_gate,
    scan_directory_for_hardcoded_values,
)

ROOT = Path(__file__).parents[2]

FOUND = {
    "x = 5": "5",
    "x = 0.05": "0.05",
    "x = -0.1": "-0.1",
    "x = +7": "+7",
    "x = 2j": "2j",
    "x = 1e999": "1e999",
    "x = 0x10": "0x10",
    "x = 1_000": "1_000",
    "LIMIT = 3": "3",
    "def f(limit=3): ...": "3",
    "x = y[:10]": "10",
    "x = round(y, 6)": "6",
    "x = f'{y * 100}'": "100",
    "def f(x: Annotated[int, 12]): ...": "12",
    "match x:\n    case 404: ...": "404",
    "lambda x: x > 40": "40",
    "@retry(3)\ndef f(): ...": "3",
    "x = float('0.05')": "float('0.05')",
    "x = Decimal('1.8')": "Decimal('1.8')",
    "x = decimal.Decimal(value='1.8')": "decimal.Decimal(value='1.8')",
    "x = Fraction('3/4')": "Fraction('3/4')",
    "x = int('5')": "int('5')",
    "x = int(b'5')": "int(b'5')",
    "x = complex('1+2j')": "complex('1+2j')",
    "x = float('0' '.05')": "float('0' '.05')",
    "x = int('4' + '2')": "int('4' + '2')",
    "x = int(f'42')": "int(f'42')",
    "x = int(' 42 ')": "int(' 42 ')",
    "x = int('٤٢')": "int('٤٢')",
    "x = float.fromhex('0x1.8p1')": "float.fromhex('0x1.8p1')",
    "x = int.from_bytes(b'ab')": "int.from_bytes(b'ab')",
    "x = list(map(float, ['5', '6']))": "map(float, ['5', '6'])",
    "x = json.loads('[0.75]')": "json.loads('[0.75]')",
    "x = np.float64('7')": "np.float64('7')",
    "from decimal import Decimal as D\nx = D('18')": "D('18')",
    "D = Fraction\nx = D('18')": "D('18')",
    "FIVE = '5'\nx = int(FIVE)": "int(FIVE)",
    "x = {'min_kappa': '0.75'}": "'0.75'",
    "x = '3/4'": "'3/4'",
    "x = '5e-2'": "'5e-2'",
    "x = True + True": "True + True",
    "x = 1 + 1": "1 + 1",
    "x = 1 << 1": "1 << 1",
    "x = ~1": "~1",
    "x = y + 1 + 1": "y + 1 + 1",
    "x = (1 > 0) + (1 > 0)": "(1 > 0) + (1 > 0)",
    "x = len('abcde')": "len('abcde')",
    "x = len((low, high))": "len((low, high))",
    "x = sum([1, 1])": "sum([1, 1])",
    "x = 'abc'.index('c')": "'abc'.index('c')",
    "x = b'abc'[0]": "b'abc'[0]",
}

CLEAN = [
    "x = 0", "x = 1", "x = -1", "x = 1.0", "x = True", "x = y[-1]", "x = y[0:1]", "x = y - 1", "x = (a - 1) * (b - 1)",
    "x = f'{y:.3f} of 12'", "x = 'at most 3 of 5'", "x = '0.1.0'", "x = '12'", "'''0.05 in prose'''", "x = float('nan')",
    "x = float(text)", "x = int('1')", "x = Decimal('0')", "x = 'ab' + 'cd'", "x = len(y)", "x = sum(y)", "x = len('a')",
    "x = json.loads('{\"a\": true}')", "x = y.index('c')", "x = ord('c')", "x = None", "x = ...", "x = 'v1'", "x = ' '.join(y)",
]


def _package(folder: Path, source: str, name: str = "module.py") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(source, "utf-8")
    return folder


@pytest.mark.parametrize("source", FOUND)
def test_each_way_to_write_a_number_is_found_once(tmp_path: Path, source: str) -> None:
    violations = scan_directory_for_hardcoded_values(_package(tmp_path, source))
    assert [item.literal for item in violations] == [FOUND[source]]


@pytest.mark.parametrize("source", CLEAN)
def test_what_hides_no_number_is_left_alone(tmp_path: Path, source: str) -> None:
    assert scan_directory_for_hardcoded_values(_package(tmp_path, source)) == []


def test_a_violation_names_its_place_and_the_enclosing_function(tmp_path: Path) -> None:
    source = "class Gate:\n    def passes(self, rate):\n        é = 'é'; return rate <= 0.05\n"
    (item,) = scan_directory_for_hardcoded_values(_package(tmp_path, source))
    # in characters: 8 blanks, then "é = 'é'; " is 9 and "return rate <= " is 15, so 32 stand before; counted from 1
    assert (item.path, item.line, item.column, item.literal, item.enclosing) == ("module.py", 3, 33, "0.05", "Gate.passes")
    assert "policy does not allow" in item.reason
    assert str(item).startswith("module.py:3:33: 0.05 in Gate.passes: ")


def test_violations_are_sorted_by_path_line_column(tmp_path: Path) -> None:
    _package(tmp_path / "b", "x = 9\n")
    _package(tmp_path / "a", "y = 1\nx = [7, 8]\nz = 6\n")
    got = [(item.path, item.line, item.column, item.literal) for item in scan_directory_for_hardcoded_values(tmp_path)]
    assert got == [("a/module.py", 2, 6, "7"), ("a/module.py", 2, 9, "8"), ("a/module.py", 3, 5, "6"), ("b/module.py", 1, 5, "9")]


@pytest.mark.parametrize("source", [b"def f(:\n", b"x = 5\n\x00\n", b"\xff\xfe\n", b"x = " + b"(" * 2000 + b")" * 2000])
def test_a_file_that_does_not_parse_is_a_violation(tmp_path: Path, source: bytes) -> None:
    (tmp_path / "broken.py").write_bytes(source)
    (item,) = scan_directory_for_hardcoded_values(tmp_path)
    assert item.path == "broken.py" and "does not parse" in item.reason


def test_a_missing_or_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("0.05")
    for folder in (tmp_path / "absent", tmp_path / "empty"):
        with pytest.raises(CountersignError) as caught:
            scan_directory_for_hardcoded_values(folder)
        assert caught.value.code == "nothing_to_scan"


def test_a_linked_folder_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    _package(tmp_path / "elsewhere", "x = 5\n")
    package = _package(tmp_path / "package", "x = 1\n")
    (package / "linked").symlink_to(tmp_path / "elsewhere")
    (item,) = scan_directory_for_hardcoded_values(package)
    assert item.path == "linked" and "symbolic link" in item.reason


def test_numbers_in_sql_are_found_and_comments_are_not(tmp_path: Path) -> None:
    _package(tmp_path, "x = 1\n")
    sql = "-- rows above 0.5\nselect \"col 7\", $2, v1.x3\nfrom t /* 9 */\nwhere kappa >= 0.75 and rate < '0.05' and name = '12' and n > 1\n"
    (tmp_path / "q.sql").write_text(sql)
    found = scan_directory_for_hardcoded_values(tmp_path)
    assert [(item.line, item.column, item.literal) for item in found] == [(4, 16, "0.75"), (4, 32, "'0.05'")]


def test_formula_modules_are_exempt_by_their_path_from_the_package_only(tmp_path: Path) -> None:
    package = _package(tmp_path / "core" / "statistics", "x = 2\n", "agreement.py")
    (tmp_path / "core" / "__init__.py").touch()
    assert scan_directory_for_hardcoded_values(tmp_path / "core") == []
    assert scan_directory_for_hardcoded_values(package) == []
    _package(tmp_path / "core" / "pairs", "x = 2\n", "agreement.py")
    _package(tmp_path / "core" / "other" / "core" / "statistics", "x = 2\n", "agreement.py")
    got = [item.path for item in scan_directory_for_hardcoded_values(tmp_path / "core")]
    assert got == ["core/other/core/statistics/agreement.py", "core/pairs/agreement.py"]


def test_the_scan_reports_files_and_policy(tmp_path: Path) -> None:
    _package(tmp_path, "x = 1\n")
    _package(tmp_path, "x = 4\n", "other.py")
    result = ZeroHardcodedValuesAstGate().scan(tmp_path)
    policy = LiteralPolicy.load()
    assert result.as_dict() == {
        "passed": False, "policy_digest": policy.digest, "files": 2,
        "violations": [{
            "path": "other.py", "line": 1, "column": 5, "literal": "4", "enclosing": "<module>", "reason": result.violations[0].reason,
        }],
    }


def test_every_formula_module_of_the_policy_exists_and_says_why() -> None:
    policy = LiteralPolicy.load()
    assert policy.allowed == {0, 1, -1} and policy.scanned == ("core", "dashboard", "pages")
    for path, reason in policy.formula_modules.items():
        assert (ROOT / path).is_file(), path
        assert len(reason) > 20, path


def test_the_running_engine_has_no_hidden_number() -> None:
    result = run_literal_gate()
    assert [str(item) for item in result.violations] == []
    # every Python and SQL file of the three packages was looked at
    expected = [file for name in ("core", "dashboard", "pages") for file in (ROOT / name).rglob("*") if file.suffix in (".py", ".sql")]
    assert result.files == len(expected) and result.passed
    assert run_literal_gate() is result


def test_the_gate_imports_nothing_that_it_scans() -> None:
    code = (
        "import sys\nfrom core.literals import run_literal_gate\nassert run_literal_gate().files > 0\n"
        "assert not {'dashboard', 'pages', 'streamlit'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_a_package_that_cannot_be_found_is_a_violation() -> None:
    gate = ZeroHardcodedValuesAstGate(replace(LiteralPolicy.load(), scanned=("core", "no_such_package")))
    result = gate.scan_packages()
    assert [(item.path, item.literal) for item in result.violations] == [("no_such_package", "no_such_package")]
    assert not result.passed


def test_nothing_scanned_does_not_pass() -> None:
    assert not ZeroHardcodedValuesAstGate(replace(LiteralPolicy.load(), scanned=())).scan_packages().passed


@pytest.mark.parametrize("planted", ["if kappa >= 0.75:\n    pass\n", "LIMIT = Fraction('1/20')\n", "def f(x, bound=1.8): ...\n"])
def test_a_threshold_planted_in_a_copy_of_the_engine_is_caught(tmp_path: Path, planted: str) -> None:
    copy = tmp_path / "core"
    shutil.copytree(ROOT / "core", copy, ignore=shutil.ignore_patterns("__pycache__"))
    before = scan_directory_for_hardcoded_values(copy)
    target = copy / "errors.py"
    lines = target.read_text("utf-8").count("\n")
    with target.open("a", encoding="utf-8") as handle:
        handle.write(planted)
    added = [item for item in scan_directory_for_hardcoded_values(copy) if item not in before]
    assert [(item.path, item.line) for item in added] == [("core/errors.py", lines + 1)]


def test_the_code_digest_is_over_the_engine_files_by_path() -> None:
    files = [file for suffix in ("py", "json", "sql") for file in (ROOT / "core").rglob(f"*.{suffix}")]
    assert code_digest() == canonical_digest({file.relative_to(ROOT).as_posix(): sha256_hex(file.read_bytes()) for file in files})
    identity = code_identity()
    assert (identity.code_digest, identity.literal_gate) == (code_digest(), run_literal_gate())
