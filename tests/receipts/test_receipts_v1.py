"""Yesterday's receipts stay verifiable: ``v1/`` was written once (``make_v1.py``) and every later engine must verify it."""
from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_receipts import Frozen

from core.errors import CountersignError
from core.persons.publickey import PublicKey
from core.signing.export import Export, read_export
from core.signing.status import lock_words

V1 = Path(__file__).parent / "v1"
FROZEN = Frozen(V1)
VERIFIERS = Path(__file__).parents[2] / "docs" / "verifiers"
OPENSSL, SHELL = shutil.which("openssl"), shutil.which("sh")
CHROMIUM = shutil.which("chromium")


@pytest.mark.parametrize(("name", "outcome", "code"), [("approved", "APPROVED", 0), ("rejected", "REJECTED", 3), ("refused", "REJECTED", 3)])
def test_version_1_verifies_and_recomputes(name: str, outcome: str, code: int) -> None:
    result = FROZEN.verified(name)
    assert (result.outcome, result.exit_code) == (outcome, code)
    assert [check for check, _ in result.checks] == ["ledger", "decision", "proposal", "grid", "files", "recomputed"]


def test_what_version_1_says() -> None:
    """Read from the frozen bytes, so that a later reader cannot quietly change what they mean."""
    exports: dict[str, Export] = {name: FROZEN.export(name) for name in ("approved", "rejected", "refused")}
    approved, rejected, refused = (exports[name].decision_statement.predicate for name in exports)
    assert (approved["decision"], approved["reviewer"], approved["proposers"]) == ("approve", "worker-verifier-02", ["worker-curator-01"])
    assert approved["receipt"]["calibrated_judge_kappa"] == 0.75 and approved["receipt"]["promote_round"] is True
    assert (rejected["reviewer"], rejected["comment"]) == ("ben@example.org", "five items prove nothing \u2013 n\u00e9e \U0001f9ea")
    assert [item["code"] for item in refused["refusal"]["reasons"]] == ["undefined_statistic"]
    assert exports["rejected"].proposal_statement.predicate["supersedes"] == [{"index": 2, "envelope_sha256": exports["approved"].decision.digest}]
    view = FROZEN.ledger
    assert [entry.kind for entry in view.entries] == ["registration"] + ["proposal", "decision"] * 3
    assert lock_words(view, approved["holdout_digest"], 1) == "witnessed: ledger entry 0, before this proposal"


def test_the_ledger_file_is_whole() -> None:
    """The RFC 6962 root of the frozen lines, by its recursive definition."""
    lines = (V1 / "ledger" / "receipts.jsonl").read_bytes().split(b"\n")[:-1]

    def root(part: list[bytes]) -> bytes:
        if len(part) == 1:
            return hashlib.sha256(b"\x00" + part[0]).digest()
        k = 1 << (len(part) - 1).bit_length() - 1
        return hashlib.sha256(b"\x01" + root(part[:k]) + root(part[k:])).digest()

    assert f'"root":"{root(lines).hex()}","size":7' in (V1 / "ledger" / "head.json").read_text()


def test_a_changed_byte_in_any_frozen_export_is_noticed(tmp_path: Path) -> None:
    for name in ("approved", "rejected", "refused"):
        data = bytearray((V1 / f"{name}.zip").read_bytes())
        for place in range(7, len(data), 211):
            changed = bytearray(data)
            changed[place] ^= 4
            (tmp_path / "x.zip").write_bytes(changed)
            with pytest.raises(CountersignError):
                read_export(tmp_path / "x.zip").decision.verify(FROZEN.registry.persons[0].keys[0].public)


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    with zipfile.ZipFile(V1 / "approved.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path


@pytest.mark.skipif(OPENSSL is None or SHELL is None, reason="OpenSSL or sh is not installed")
def test_the_shell_verifier(unpacked: Path) -> None:
    def run(file: str, key: Path = V1 / "verifier.pub") -> tuple[int, str]:
        done = subprocess.run([str(SHELL), str(VERIFIERS / "verify.sh"), str(unpacked / file), str(key)], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    code, said = run("decision.json")
    payload = FROZEN.export("approved").decision.payload
    assert code == 3 and said.startswith("SIGNATURE ONLY: ") and hashlib.sha256(payload).hexdigest() in said
    assert payload.decode() in said
    code, said = run("proposal.json")
    assert code == 5 and "another key signed this" in said
    assert run("receipt.json")[0] == 4
    good = (unpacked / "decision.json").read_bytes()
    assert (good + b"\n")[-1:] == b"\n"
    for changed, code in [(good + b"\n", 3), (good + b"\n" + good + b"\n", 4), (b" " + good, 4), (good.replace(b'"payload":"e', b'"payload":"f'), 5),
                          (good.replace(b'"signatures":[', b'"extra":1,"signatures":['), 4), (good[:-5], 4)]:
        (unpacked / "changed.json").write_bytes(changed)
        assert run("changed.json")[0] == code
    (unpacked / "rsa.pub").write_text("ssh-rsa AAAA x\n")
    assert run("decision.json", unpacked / "rsa.pub")[0] == 4


def test_the_pages_policy_allows_its_own_script_and_style_alone() -> None:
    page = (VERIFIERS / "verify.html").read_text()
    script, style = (re.search(f"<{tag}>(.*)</{tag}>", page, re.DOTALL) for tag in ("script", "style"))
    assert script is not None and style is not None
    hashes = [base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode() for found in (script, style)]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1] == f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"https?://|innerHTML|eval\(|document\.write", page)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[object]:
    from playwright.sync_api import sync_playwright
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page()
        opened.goto((VERIFIERS / "verify.html").as_uri())
        yield opened
        browser.close()


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_offline_page(page: object, unpacked: Path) -> None:
    from playwright.sync_api import Page, expect
    assert isinstance(page, Page)
    said, key = page.locator("#said"), (V1 / "verifier.pub").read_text()

    def try_(data: bytes, line: str = key) -> None:
        (unpacked / "given.json").write_bytes(data)
        page.locator("#key").fill("")
        page.locator("#envelope").set_input_files(unpacked / "given.json")
        page.locator("#key").fill(line)

    good = (unpacked / "decision.json").read_bytes()
    try_(good)
    expect(said).to_contain_text("SIGNATURE ONLY")
    expect(said).to_contain_text(hashlib.sha256(FROZEN.export("approved").decision.payload).hexdigest())
    expect(page.locator("#says")).to_contain_text('"reviewer": "worker-verifier-02"')
    try_(good.replace(b'"payload":"e', b'"payload":"f'))
    expect(said).to_contain_text("BAD SIGNATURE")
    expect(page.locator("#says")).to_have_text("")
    try_((unpacked / "proposal.json").read_bytes())
    expect(said).to_contain_text("another key signed this")
    try_(good + b" ")
    expect(said).to_contain_text("not a receipt")
    weak = [(b"\x01" + bytes(31), "small order"), (bytes(32), "small order"), (b"\xff" * 32, "second encoding"), (b"\x02" + bytes(31), "no point")]
    for raw, why in weak:
        try_(good, PublicKey(raw).openssh)
        expect(said).to_contain_text(why)
