"""The whole path on the command line, as people type it: keys, registry, lock, propose, sign, export, verify."""
from __future__ import annotations

import hashlib
import json
import shutil
import stat
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support_desk import BUNDLE, CREATED, bundle
from support_signing import NOW

from core.cli.main import run
from core.grid import default_grid
from core.rounds.workspace import Workspace
from core.sampling.marks import Marks
from core.settings import SETTINGS
from core.signing.heads import state_folder

PHRASE = "correct horse battery"
SSH_AGENT = shutil.which("ssh-agent")


@dataclass
class Cli:
    """Runs command lines in one workspace; passphrases come from the environment, as in a script."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        code = run([str(item) for item in arguments])
        captured = self.capture.readouterr()
        return code, captured.out, captured.err

    def ok(self, *arguments: object) -> str:
        code, out, err = self(*arguments)
        assert code == 0, err + out
        return out

    def document(self, *arguments: object, code: int = 0) -> Any:
        found, out, err = self(*arguments, "--json")
        assert found == code, err + out
        return json.loads(out)

    def refused(self, code: str, exit_code: int, *arguments: object) -> str:
        found, out, err = self(*arguments)
        assert (found, f"[{code}]" in err) == (exit_code, True), err + out
        assert out == ""
        return err

    def key(self, name: str) -> Path:
        return self.folder / "keys" / name

    def ingest(self, name: str, **changes: Any) -> None:
        file = self.folder / f"{name}.json"
        file.write_bytes(bundle(**changes))
        self.ok("ingest", file, "--round-id", name, "--created-at", CREATED)

    def tree(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.workspace)): path.read_bytes() for path in sorted(self.workspace.rglob("*"))
            if path.is_file() and path.suffix != ".lock" and path.name != "exposure.jsonl" and "assessments" not in path.parts
        }


def set_up(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setenv("COUNTERSIGN_WORKSPACE", str(folder / "workspace"))
    patch.setenv("COUNTERSIGN_PASSPHRASE", PHRASE)
    patch.setenv("XDG_STATE_HOME", str(folder / "state"))
    # a slow derivation is tested where keys are made; here it would only be waited for
    patch.setattr("core.signing.keys._SETTINGS", {**SETTINGS["signing"], "kdf_rounds": 1})
    patch.chdir(folder)


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    set_up(monkeypatch, tmp_path)
    return Cli(tmp_path, capsys)


def do(*arguments: object) -> None:
    assert run([str(item) for item in arguments]) == 0


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two of the worked example enrolled each other, and Eva; round r1 is ingested but not proposed."""
    folder = tmp_path_factory.mktemp("template")
    keys = folder / "keys"
    with pytest.MonkeyPatch.context() as patch:
        set_up(patch, folder)
        for name in ("worker-curator-01", "worker-verifier-02", "eva@example.org"):
            do("keygen", "--id", name, "--out", keys)
        do("enrol", keys / "worker-curator-01.enrol.json", "--by", "worker-verifier-02", "--role", "proposer")
        do("enrol", keys / "worker-verifier-02.enrol.json", "--by", "worker-curator-01", "--role", "reviewer")
        do("enrol", keys / "eva-example-org.enrol.json", "--by", "worker-curator-01", "--role", "reviewer", "--role", "proposer", "--alias", "eve")
        do("ingest", BUNDLE, "--round-id", "r1", "--created-at", CREATED)
    return folder


@pytest.fixture
def enrolled(cli: Cli, template: Path) -> Cli:
    shutil.copytree(template, cli.folder, dirs_exist_ok=True)
    cli.capture.readouterr()
    return cli


@pytest.fixture
def ready(enrolled: Cli) -> Cli:
    enrolled.ok("propose", "r1", "--key", enrolled.key("worker-curator-01"))
    return enrolled


def approve(cli: Cli, *more: object) -> tuple[int, str, str]:
    return cli("sign", "--round", "r1", "--approve", "--comment", "read both", "--key", cli.key("worker-verifier-02"), "--yes", *more)


def test_from_keys_to_a_verified_export(ready: Cli) -> None:
    cli = ready
    code, out, err = approve(cli)
    assert code == 0, err
    assert "The 2 admitted pairs may train the next generation." in out and "The round is now: APPROVED" in out
    said = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith(("receipt ", "envelope ")))
    export = cli.folder / "out.zip"
    cli.ok("ledger", "export", 1, "--out", export)
    with zipfile.ZipFile(export) as packed:
        digests = {name: hashlib.sha256(packed.read(name)).hexdigest() for name in packed.namelist()}
    # the receipt is the receipt wherever a digest of it is printed; the signed envelope that was recorded has another name
    assert said == {"receipt": digests["receipt.json"], "envelope": digests["decision.json"]}
    rounds = next((cli.workspace / "rounds").iterdir())
    out = cli.ok("verify", export, "--registry", cli.workspace / "reviewers.toml", "--round", rounds, "--ledger", cli.workspace / "ledger",
                 "--workspace", cli.folder / "nothing")
    assert out.splitlines()[-1] == "APPROVED"
    assert "registry " in out and "later revocations are unknown" in out and "VALID" not in out
    assert cli.ok("verify", export).splitlines()[-1] == "APPROVED"          # the workspace's own round, registry and ledger
    document = cli.document("verify", export)
    assert (document["outcome"], document["exit_code"], document["reviewer"]) == ("APPROVED", 0, "worker-verifier-02")
    code, out, _ = cli("verify", export, "--signature-only")
    assert (code, out.splitlines()[0].startswith("SIGNATURE ONLY"), out.splitlines()[-1]) == (3, True, "SIGNATURE ONLY")
    assert cli.document("decide", "r1", "--require-approved")["approved"] is True


def test_what_was_disputed_on_the_page_is_said_signed_and_verified_here(ready: Cli) -> None:
    cli = ready
    place = Workspace.open(cli.workspace)
    Marks(place, place.round("r1").digest, "worker-verifier-02").put("disputed", "pair-collapse-trap", NOW)
    line = "The reviewer disputes 1 pair: pair-collapse-trap (rejected); no pair marked as seen."
    code, out, err = approve(cli)
    assert code == 0 and line in out, err
    export = cli.folder / "out.zip"
    cli.ok("ledger", "export", 1, "--out", export)
    assert f"note: as signed, not computed again: {line}" in cli.ok("verify", export).splitlines()
    assert any(line in note for note in cli.document("verify", export)["notes"])


def test_a_signed_rejection_never_exits_0(ready: Cli) -> None:
    cli = ready
    out = cli.ok("sign", "--round", "r1", "--reject", "--comment", "five items", "--key", cli.key("worker-verifier-02"), "--yes")
    assert "The round is now: REJECTED" in out
    cli.ok("ledger", "export", 1, "--out", cli.folder / "folder")
    code, out, _ = cli("verify", cli.folder / "folder")
    assert (code, out.splitlines()[-1]) == (3, "REJECTED")
    assert "reject: five items" in cli.ok("ledger", "list")


@pytest.mark.parametrize("written", ["worker-curator-01", "Worker-Curator-01", " worker-curator-01 ", "ｗorker-curator-01", "worker-curator-01+x"])
def test_self_review_is_refused_before_anything_is_written(enrolled: Cli, written: str) -> None:
    cli = enrolled
    cli.ingest("r2", reviewer_id=...)
    cli.ok("propose", "r2", "--key", cli.key("worker-curator-01"))
    before = cli.tree()
    cli.refused("own_round", 5, "sign", "--round", "r2", "--approve", "--as", written, "--key", cli.key("worker-curator-01"), "--yes")
    assert cli.tree() == before


@pytest.mark.parametrize(
    ("proposer", "written", "code"),
    [("worker-curator-01", "ｗｏｒｋｅｒ-ｃｕｒａｔｏｒ-０１", "own_round"), ("worker-curator-01+night", "worker-curator-01", "own_round"),
     ("WORKER-Curator-01", "worker-curator-01+x", "own_round"), ("eve", "eva@example.org", "own_round"), ("eva@example.org", "EVE+x", "own_round"),
     ("Eva@Example.org.", "eva+review@example.org", "own_round"), ("eva@example.org", "\u0435va@example.org", "id_grammar"),
     ("eva@example.org", "eva\u200b@example.org", "id_hidden_character"), ("eva@example.org", "\u202eeva@example.org", "id_hidden_character"),
     ("eva@example.org", "Eva <eva@example.org>", "id_grammar"), ("eva@example.org", "", "id_empty")],
)
def test_self_review_in_a_bundle_or_at_the_desk_leaves_every_file_as_it_was(enrolled: Cli, proposer: str, written: str, code: str) -> None:
    """The proposer writes an id one way and reviews under another: refused at the desk, and by decide where the registry knows."""
    cli = enrolled
    key = cli.key("worker-curator-01" if "curator" in proposer.lower() else "eva-example-org")
    cli.ingest("r2", reviewer_id=..., proposer_id=proposer)
    cli.ok("propose", "r2", "--key", key)
    cli.document("decide", "r2")                        # the assessment is there, so that nothing new may appear below
    before, ledger = cli.tree(), (cli.workspace / "ledger" / "receipts.jsonl").read_bytes()
    listing = sorted(str(path) for path in cli.workspace.rglob("*"))
    for choice in ("--approve", "--reject"):
        cli.refused(code, 5, "sign", "--round", "r2", choice, "--as", written, "--key", key, "--yes")
        cli.refused(code, 5, "sign", "--round", "r2", choice, "--as", written, "--prepare-only", "--out", cli.folder / "statement.json")
    if code == "own_round":
        decided = cli.document("decide", "r2", "--reviewer", written, code=3)
        assert decided["receipt"]["promote_round"] is False and decided["distinct_reviewer"]["state"] == "fails"
    else:
        cli.refused(code, 4, "decide", "r2", "--reviewer", written)
    assert cli.tree() == before and not (cli.folder / "statement.json").exists()
    assert (cli.workspace / "ledger" / "receipts.jsonl").read_bytes() == ledger
    assert sorted(str(path) for path in cli.workspace.rglob("*")) == listing


def test_exit_codes_of_proposing_and_signing(ready: Cli) -> None:
    cli, curator, verifier, eva = ready, *(ready.key(name) for name in ("worker-curator-01", "worker-verifier-02", "eva-example-org"))
    cli.refused("already_proposed", 5, "propose", "r1", "--key", curator)
    cli.refused("another_reviewer_named", 5, "sign", "--round", "r1", "--approve", "--key", eva, "--yes")
    cli.refused("anothers_key", 5, "sign", "--round", "r1", "--approve", "--as", "worker-verifier-02", "--key", eva, "--yes")
    cli.refused("wrong_role", 5, "propose", "r1", "--key", verifier)
    cli.refused("id_grammar", 5, "sign", "--round", "r1", "--approve", "--as", "Ana <a@b>", "--key", verifier, "--yes")
    cli.ingest("bad", preregistered_holdout_sha256="0" * 64)
    cli.refused("not_proposed", 5, "sign", "--round", "bad", "--approve", "--key", verifier, "--yes")
    cli.ok("propose", "bad", "--key", curator)
    cli.refused("engine_refuses", 3, "sign", "--round", "bad", "--approve", "--key", verifier, "--yes")
    cli.refused("unknown_round", 4, "propose", "nothing", "--key", curator)
    assert approve(cli)[0] == 0
    cli.refused("already_decided", 5, "sign", "--round", "r1", "--reject", "--key", verifier, "--yes")


@pytest.mark.parametrize(
    "arguments",
    [("sign",), ("sign", "--round", "r1"), ("sign", "--round", "r1", "--approve", "--reject"), ("sign", "statement.json", "--round", "r1"),
     ("sign", "--round", "r1", "--approve"), ("propose", "r1"), ("propose", "r1", "--key", "k", "--agent"), ("enrol", "x.json"), ("keygen",),
     ("sign", "--round", "r1", "--approve", "--prepare-only", "--out", "s.json"), ("ledger",), ("verify",)],
)
def test_usage(ready: Cli, arguments: tuple[str, ...]) -> None:
    code, _, _ = ready(*arguments)
    assert code == 2


def test_signing_asks_first(ready: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal nothing is signed unless --yes says so."""
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: PTH123, SIM115
    code, _, err = ready("sign", "--round", "r1", "--approve", "--key", ready.key("worker-verifier-02"))
    assert code == 2 and "--yes" in err
    assert len(ready.document("ledger", "list")["entries"]) == 1


def test_keygen_writes_private_files_once(cli: Cli) -> None:
    document = cli.document("keygen", "--id", "Ana@Example.org")
    assert document["id"] == "ana@example.org"
    key = cli.workspace / "keys" / "ana-example-org"
    assert Path(document["key"]).resolve() == key.resolve()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    assert PHRASE.encode() not in b"".join(path.read_bytes() for path in key.parent.iterdir())
    before = {path.name: path.read_bytes() for path in key.parent.iterdir()}
    assert cli("keygen", "--id", "ana@example.org")[0] == 2
    assert {path.name: path.read_bytes() for path in key.parent.iterdir()} == before
    cli.refused("id_grammar", 5, "keygen", "--id", "../../x")


def test_passphrases_from_a_file_or_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COUNTERSIGN_PASSPHRASE")
    (cli.folder / "phrase").write_text(PHRASE + "\nsecond line\n")
    cli.ok("keygen", "--id", "ana", "--passphrase-file", cli.folder / "phrase")
    (cli.folder / "short").write_text("short\n")
    cli.refused("short_passphrase", 5, "keygen", "--id", "ben", "--passphrase-file", cli.folder / "short")
    assert cli("keygen", "--id", "ben", "--passphrase-file", cli.folder / "absent")[0] == 2
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: PTH123, SIM115
    assert cli("keygen", "--id", "ben")[0] == 2
    options = subprocess.run([sys.executable, "-m", "core.cli.main", "sign", "--help"], capture_output=True, text=True, check=True).stdout
    assert "--passphrase " not in options            # never on the command line, where others can see it


def test_nobody_enrols_themselves(cli: Cli) -> None:
    cli.ok("keygen", "--id", "ana", "--out", cli.folder / "keys")
    cli.refused("self_enrolment", 5, "enrol", cli.key("ana.enrol.json"), "--by", "ANA", "--role", "reviewer")
    assert not (cli.workspace / "reviewers.toml").exists()
    cli.refused("unreadable_file", 4, "enrol", cli.key("absent"), "--by", "ben", "--role", "reviewer")
    assert cli("enrol", cli.key("ana.enrol.json"), "--by", "ben", "--role", "boss")[0] == 2


def test_lock_before_the_proposal_is_witnessed(enrolled: Cli) -> None:
    cli = enrolled
    holdout = cli.folder / "holdout.json"
    holdout.write_text(json.dumps(json.loads(BUNDLE.read_bytes())["holdout_suite"]))
    assert cli.document("lock", holdout, "--key", cli.key("eva-example-org"))["holdout_sha256"].startswith("eff4e98f")
    cli.ok("propose", "r1", "--key", cli.key("worker-curator-01"))
    assert "witnessed: ledger entry 0, before this proposal" in approve(cli)[1]
    holdout.write_text("[]")
    cli.refused("empty_holdout", 4, "lock", holdout, "--key", cli.key("eva-example-org"))


def test_prepare_here_sign_there_append_here(ready: Cli) -> None:
    cli, statement = ready, ready.folder / "statement.json"
    cli.ok("sign", "--round", "r1", "--approve", "--as", "worker-verifier-02", "--prepare-only", "--out", statement)
    out = cli.ok("sign", statement, "--key", cli.key("worker-verifier-02"), "--yes", "--workspace", cli.folder / "elsewhere")
    assert "You, worker-verifier-02, approve round r1" in out
    signed = cli.folder / "statement.signed.json"
    assert not (cli.folder / "elsewhere").exists()
    document = cli.document("ledger", "append", signed)
    assert (document["index"], document["repeated"], document["status"]["state"]) == (1, False, "approved")
    assert cli.document("ledger", "append", signed)["repeated"] is True
    assert cli("sign", statement, "--key", cli.key("worker-verifier-02"), "--yes")[0] == 2        # the signed file is there
    statement.write_bytes(statement.read_bytes() + b" ")
    cli.refused("not_canonical", 4, "sign", statement, "--key", cli.key("worker-verifier-02"), "--yes", "--out", cli.folder / "x.json")


@pytest.mark.skipif(SSH_AGENT is None, reason="OpenSSH is not installed")
def test_signing_through_an_agent(ready: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli = ready
    socket = cli.folder / "agent.sock"
    process = subprocess.Popen([str(SSH_AGENT), "-D", "-a", str(socket)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        cli.refused("key_not_in_agent", 5, "sign", "--round", "r1", "--approve", "--as", "worker-verifier-02", "--agent", "--yes")
        ask = cli.folder / "ask"
        ask.write_text(f"#!/bin/sh\necho '{PHRASE}'\n")
        ask.chmod(0o700)
        monkeypatch.setenv("SSH_ASKPASS", str(ask))
        monkeypatch.setenv("SSH_ASKPASS_REQUIRE", "force")
        subprocess.run(["ssh-add", "-q", str(cli.key("worker-verifier-02"))], check=True, capture_output=True, stdin=subprocess.DEVNULL)
        assert "APPROVED" in cli.ok("sign", "--round", "r1", "--approve", "--as", "worker-verifier-02", "--agent", "--yes")
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_ledger_list_show_check(ready: Cli) -> None:
    cli = ready
    approve(cli)
    listed = cli.document("ledger", "list")
    assert [(entry["kind"], entry["by"], entry["decision"]) for entry in listed["entries"]] == [
        ("proposal", "worker-curator-01", None), ("decision", "worker-verifier-02", "approve"),
    ]
    assert "worker-verifier-02" in cli.ok("ledger", "list")
    shown = cli.document("ledger", "show", listed["entries"][1]["envelope_sha256"][:16])
    assert shown["statement"]["predicate"]["comment"] == "read both"
    assert "You, worker-curator-01, propose round r1" in cli.ok("ledger", "show", 0)
    for number in range(2, 10):                     # also where a digest begins with that digit
        cli.refused("unknown_entry", 5, "ledger", "show", number)
    cli.refused("not_a_decision", 5, "ledger", "export", 0, "--out", cli.folder / "x.zip")
    assert "every signature holds" in cli.ok("ledger", "check")
    (cli.workspace / "reviewers.toml").write_text("registry_version = 1\n")
    code, out, _ = cli("ledger", "check")
    assert code == 5 and "2 of 2 entries do not hold" in out


def test_a_dropped_tail_is_noticed_by_the_head_seen_last(ready: Cli) -> None:
    """Somebody removes the last line and rewrites the head file: only what the user remembers outside can tell."""
    cli, ledger = ready, ready.workspace / "ledger"
    old = {path.name: path.read_bytes() for path in ledger.iterdir()}
    approve(cli)
    export = cli.folder / "out.zip"
    cli.ok("ledger", "export", 1, "--out", export)
    for name in ("receipts.jsonl", "head.json"):
        (ledger / name).write_bytes(old[name])
    for command in (("ledger", "list"), ("ledger", "check"), ("propose", "r1", "--key", cli.key("worker-curator-01")), ("verify", export)):
        cli.refused("ledger_truncated", 5, *command)


def test_another_ledger_in_the_same_place(ready: Cli) -> None:
    cli, ledger = ready, ready.workspace / "ledger"
    cli.ok("ledger", "list")
    for name in ("receipts.jsonl", "head.json"):
        (ledger / name).unlink()
    code, _, err = cli("ledger", "list")
    assert code == 0 and "another_ledger" in err
    cli.refused("another_ledger", 5, "ledger", "check")
    cli.ok("propose", "r1", "--key", cli.key("worker-curator-01"))
    for _ in range(2):                                  # a warning does not make it forget
        assert "another_ledger" in cli("ledger", "list")[2]
    cli.refused("another_ledger", 5, "ledger", "check")
    cli.ok("ledger", "check", "--forget")
    cli.ok("ledger", "check")
    assert state_folder().is_dir()


def test_one_flipped_byte_in_any_file_of_the_round_is_named(ready: Cli) -> None:
    cli = ready
    approve(cli)
    export = cli.folder / "out.zip"
    cli.ok("ledger", "export", 1, "--out", export)
    source = next((cli.workspace / "rounds").iterdir())
    copied = cli.folder / "copied"
    shutil.copytree(source, copied)
    cli.ok("verify", export, "--round", copied)
    for name in sorted(path.name for path in source.iterdir()):
        file = copied / name
        file.chmod(0o644)
        good = file.read_bytes()
        for place in (0, len(good) // 2, len(good) - 1):
            file.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1:])
            found, out, err = cli("verify", export, "--round", copied)
            # round.json in a folder of another name may no longer be a manifest at all: bad input
            assert found in ((4, 6) if name == "round.json" else (6,)) and out == "" and name in err, (name, place, err)
        file.unlink()
        assert cli("verify", export, "--round", copied)[0] in ((4,) if name == "round.json" else (6,))
        file.write_bytes(good)
    (copied / "more").write_bytes(b"")
    cli.refused("unexpected_file", 6, "verify", export, "--round", copied)


def test_a_rejection_exits_0_nowhere(ready: Cli) -> None:
    cli = ready
    cli.ok("sign", "--round", "r1", "--reject", "--key", cli.key("worker-verifier-02"), "--yes")
    cli.ok("ledger", "export", 1, "--out", cli.folder / "out.zip")
    document = cli.document("verify", cli.folder / "out.zip", code=3)
    assert (document["outcome"], document["exit_code"], document["decision"]) == ("REJECTED", 3, "reject")
    assert cli("verify", cli.folder / "out.zip", "--signature-only")[0] == 3
    assert cli("decide", "r1", "--require-approved")[0] == 3
    assert cli.document("decide", "r1")["approved"] is False        # the engine's own verdict is another question


def test_files_that_cannot_be_read_are_bad_input_and_no_fault(ready: Cli) -> None:
    """A folder stands where a file should be, as after a restore that went wrong."""
    cli = ready
    approve(cli)
    cli.ok("ledger", "export", 1, "--out", cli.folder / "out.zip")
    for name, code, command in [
        ("ledger/receipts.jsonl", "ledger_unreadable", ("ledger", "list")), ("ledger/head.json", "ledger_unreadable", ("ledger", "check")),
        ("grids.json", "grids_unreadable", ("verify", cli.folder / "out.zip")), ("reviewers.toml", "registry_unreadable", ("ledger", "check")),
    ]:
        path, kept = cli.workspace / name, cli.folder / "kept"
        if path.exists():
            path.rename(kept)
        path.mkdir()
        cli.refused(code, 4, *command)
        path.rmdir()
        if kept.exists():
            kept.rename(path)
    for command in (("decide", "r1"), ("ledger", "list"), ("round", "list")):
        assert cli(*command, "--workspace", "a" * 300)[0] == 2
    for option in ("--round", "--ledger", "--grids"):
        assert cli("verify", cli.folder / "out.zip", option, "a" * 300)[0] in (2, 4)
    (cli.folder / "long.json").write_bytes(bundle())
    cli.ok("ingest", cli.folder / "long.json", "--round-id", "l" * 256)
    cli.ok("decide", "l" * 256)                                   # an id may be longer than a file name
    cli.refused("cannot_read", 4, "decide", cli.folder / "absent.json")
    cli.refused("cannot_read", 4, "decide", "absent.json")
    cli.refused("unknown_round", 4, "decide", "absent")


def test_verify_names_what_is_wrong_in_the_order_of_the_codes(ready: Cli) -> None:
    cli = ready
    approve(cli)
    export, registry, ledger = cli.folder / "out.zip", cli.workspace / "reviewers.toml", cli.workspace / "ledger" / "receipts.jsonl"
    cli.ok("ledger", "export", 1, "--out", export)
    source = next((cli.workspace / "rounds").iterdir())
    empty = cli.folder / "empty.toml"
    empty.write_text("registry_version = 1\n")
    changed = cli.folder / "round"
    shutil.copytree(source, changed)
    (changed / "sanity.parquet").chmod(0o644)
    (changed / "sanity.parquet").write_bytes(b"x")
    broken = cli.folder / "broken.toml"
    broken.write_text("persons = 1")
    base = ("verify", export, "--ledger", ledger)
    cli.refused("file_changed", 6, *base, "--registry", registry, "--round", changed)
    cli.refused("unknown_person", 5, *base, "--registry", empty, "--round", changed)
    cli.refused("unknown_registry_version", 4, *base, "--registry", broken, "--round", changed)
    cli.refused("no_round", 4, *base, "--registry", empty, "--round", cli.folder)
    cli.refused("ledger_unreadable", 4, "verify", export, "--ledger", cli.folder / "absent", "--registry", empty)
    cli.refused("grids_unreadable", 4, *base, "--grids", cli.folder / "absent")
    cli.refused("unknown_round", 4, *base, "--round", "nothing")
    data = bytearray(export.read_bytes())
    data[len(data) // 2] ^= 1
    export.write_bytes(data)
    assert cli("verify", export)[0] in (4, 5)
    cli.refused("export_unreadable", 4, "verify", cli.folder / "absent.zip")
    # a folder that is named by a digest which its round.json does not have
    wrong = cli.folder / ("0" * 64)
    shutil.copytree(source, wrong)
    cli.ok("ledger", "export", 1, "--out", cli.folder / "again.zip")
    cli.refused("file_changed", 6, "verify", cli.folder / "again.zip", "--round", wrong)


def test_grid_accept_and_list(ready: Cli) -> None:
    cli = ready
    document = json.loads(default_grid().canonical)
    document |= {"name": "strict", "author": "eva", "reason": "tighter kappa"}
    document["keys"]["min_cohens_kappa"]["value"] = "0.8"
    file = cli.folder / "strict.json"
    file.write_text(json.dumps(document))
    cli.ingest("r2")
    cli.refused("grid_not_accepted", 5, "propose", "r2", "--grid", file, "--key", cli.key("worker-curator-01"))
    out = cli.ok("grid", "accept", file, "--by", "worker-curator-01")
    assert "min_cohens_kappa" in out
    cli.refused("grid_not_accepted", 5, "propose", "r2", "--grid", file, "--key", cli.key("worker-curator-01"))
    cli.ok("grid", "accept", file, "--by", "eve")
    cli.ok("propose", "r2", "--grid", file, "--key", cli.key("worker-curator-01"))
    listed = cli.document("grid", "list")
    assert listed["default"] == default_grid().digest
    assert [entry["accepted_by"] for entry in listed["accepted"]] == [["worker-curator-01", "eva@example.org"]]
    assert "tighter kappa" in cli.ok("grid", "list")
    # kappa is exactly 3/4, so under this grid the judge's gate is closed and its one pair held
    receipt = cli.folder / "receipt.json"
    out = cli.ok("sign", "--round", "r2", "--approve", "--key", cli.key("worker-verifier-02"), "--yes", "--out", receipt)
    assert "5 in = 1 admitted + 3 rejected + 1 held + 0 quarantined" in out
    assert json.loads(receipt.read_bytes())["payloadType"] == "application/vnd.in-toto+json"
    export = cli.folder / "out.zip"
    cli.ok("ledger", "export", 2, "--out", export)
    assert cli.ok("verify", export).splitlines()[-1] == "APPROVED"
    other = cli.folder / "other.json"
    other.write_text('{"grids_version": 1, "accepted": []}')
    cli.refused("grid_not_accepted", 5, "verify", export, "--grids", other)
    default = cli.folder / "default.json"
    default.write_bytes(default_grid().canonical)
    cli.refused("grid_changed", 6, "verify", export, "--grid", default)


def test_hostile_text_in_a_comment_is_shown_as_marks(ready: Cli) -> None:
    cli = ready
    out = cli.ok("sign", "--round", "r1", "--reject", "--comment", "\x1b[31mred\u202e", "--key", cli.key("worker-verifier-02"), "--yes")
    for text in (out, cli.ok("ledger", "list"), cli.ok("ledger", "show", 1)):
        assert "\x1b" not in text and "\u202e" not in text and "␛" in text
