"""The ledger as a file: torn lines, tampering against a remembered head, racers, and kill -9."""
from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support_signing import Court, append, court, decision, registration

from core.errors import CountersignError, LedgerError, LedgerFormatError
from core.signing.ledger import Head, Ledger, LedgerView
from core.signing.merkle import roots

HERE = Path(__file__).parents[1]


@pytest.fixture
def c(tmp_path: Path) -> Court:
    made = court(tmp_path)
    made.register("h0")
    made.decide(made.propose("r1"))
    made.propose("r2")
    return made


def lines_of(c: Court) -> list[bytes]:
    return c.ledger.file.read_bytes().split(b"\n")[:-1]


def write(c: Court, lines: list[bytes], *, head: bool = False) -> None:
    c.ledger.file.write_bytes(b"".join(line + b"\n" for line in lines))
    if head:
        old = json.loads(c.ledger.head_file.read_bytes())
        made = {"origin": old["origin"], "root": roots(lines)[-1], "size": len(lines)}
        c.ledger.head_file.write_bytes(json.dumps(made, separators=(",", ":")).encode())


def code_of(act: Callable[[], object]) -> str:
    with pytest.raises(CountersignError) as caught:
        act()
    return caught.value.code


def test_an_absent_ledger_is_empty_and_reading_writes_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "none" / "receipts.jsonl")
    view = ledger.read()
    assert (view.size, view.origin, view.torn, ledger.exists()) == (0, None, 0, False)
    assert list(tmp_path.iterdir()) == []


def test_one_canonical_envelope_a_line_and_a_head(c: Court) -> None:
    lines = lines_of(c)
    assert [json.loads(line)["payloadType"] for line in lines] == ["application/vnd.in-toto+json"] * 4
    view = c.ledger.read()
    assert [entry.line for entry in view.entries] == lines
    assert [entry.index for entry in view.entries] == [0, 1, 2, 3]
    head = Head.from_document(json.loads(c.ledger.head_file.read_bytes()))
    assert head == view.head == Head(view.origin or "", 4, roots(lines)[4])
    for entry in view.entries:          # each was written against the lines before it
        assert entry.statement.predicate["ledger"] == {"origin": view.origin, "size": entry.index, "root": roots(lines[:entry.index])[-1]}


def test_the_lock_is_a_file_of_its_own(c: Court) -> None:
    assert sorted(path.name for path in c.ledger.file.parent.iterdir()) == ["head.json", "ledger.lock", "receipts.jsonl"]


def test_u2028_in_a_comment_does_not_split_a_line(c: Court) -> None:
    proposed = c.ledger.read().entries[3]
    c.decide(proposed, comment="one\u2028two\x85three\x0bfour\rfive\nsix")
    assert c.ledger.read().size == 5
    assert c.ledger.read().entries[4].statement.predicate["comment"] == "one\u2028two\x85three\x0bfour\rfive\nsix"


@pytest.mark.parametrize("torn", [b"{", b'{"payload":"', b"\x00" * 30, b"\xff"])
def test_a_torn_last_line_is_reported_and_cut_by_the_next_append(c: Court, torn: bytes) -> None:
    before = lines_of(c)
    with c.ledger.file.open("ab") as file:
        file.write(torn)
    view = c.ledger.read()
    assert (view.size, view.torn) == (4, len(torn))
    c.register("h1")
    assert lines_of(c)[:4] == before
    assert (c.ledger.read().size, c.ledger.read().torn) == (5, 0)


def test_a_whole_line_without_its_line_feed_is_torn(c: Court) -> None:
    """It was never acknowledged: the head is written after the whole line."""
    kept = lines_of(c)
    write(c, kept[:3], head=True)
    with c.ledger.file.open("ab") as file:
        file.write(kept[3])
    assert (c.ledger.read().size, c.ledger.read().torn) == (3, len(kept[3]))


def test_killed_between_line_and_head_the_line_counts(c: Court) -> None:
    lines = lines_of(c)
    write(c, lines[:3], head=True)
    c.ledger.file.write_bytes(b"".join(line + b"\n" for line in lines))
    assert c.ledger.read().size == 4
    c.register("h1")
    assert c.ledger.read().size == 5


def test_tampering_is_noticed_by_the_head(c: Court) -> None:
    lines = lines_of(c)
    write(c, lines[:3])
    assert code_of(c.ledger.read) == "ledger_truncated"
    write(c, [])
    assert code_of(c.ledger.read) == "ledger_truncated"
    c.ledger.file.unlink()
    assert code_of(c.ledger.read) == "ledger_truncated"
    write(c, [lines[1], lines[0], lines[2], lines[3]])
    assert code_of(c.ledger.read) == "chain_broken"
    write(c, [lines[0], lines[2], lines[3], lines[3]])
    assert code_of(c.ledger.read) == "chain_broken"


def test_an_attacker_who_rewrites_the_head_too_is_noticed_by_the_chain_or_a_remembered_head(c: Court) -> None:
    lines, remembered = lines_of(c), c.ledger.read().head
    for edited in ([lines[0], lines[2], lines[3]], [lines[1], lines[2], lines[3]], [lines[3], lines[1], lines[2], lines[0]]):
        write(c, edited, head=True)
        assert code_of(c.ledger.read) == "chain_broken"
    write(c, lines[:3], head=True)                       # a dropped tail leaves a sound chain
    view = c.ledger.read()
    assert code_of(lambda: view.check_against(remembered, "the last visit")) == "ledger_truncated"
    c.register("another")                                # and so does a tail that was replaced
    view = c.ledger.read()
    assert view.size == remembered.size
    assert code_of(lambda: view.check_against(remembered, "the last visit")) == "ledger_rewritten"
    write(c, [], head=True)                              # an empty chain
    view = c.ledger.read()
    assert code_of(lambda: view.check_against(remembered, "the last visit")) == "ledger_truncated"
    assert code_of(lambda: view.check_against(Head("countersign/other", 0, remembered.root), "the last visit")) == "another_ledger"


def test_every_edited_byte_of_an_inner_line_is_noticed(c: Court) -> None:
    lines = lines_of(c)
    picker = random.Random(6962)
    for _ in range(150):
        number, bit = picker.randrange(3), 1 << picker.randrange(7)
        place = picker.randrange(len(lines[number]))
        edited = bytearray(lines[number])
        edited[place] ^= bit
        write(c, [*lines[:number], bytes(edited), *lines[number + 1:]], head=True)
        assert code_of(c.ledger.read) in {"broken_line", "chain_broken"}


def test_broken_lines_name_their_line(c: Court) -> None:
    lines = lines_of(c)
    for bad in (b"", b"{}", b"not json", lines[1] + b" "):
        write(c, [lines[0], bad, *lines[2:]])
        with pytest.raises(LedgerFormatError) as caught:
            c.ledger.read()
        assert caught.value.exit_code == 4
        assert caught.value.where is not None and caught.value.where.line == 2


def test_a_broken_head_is_a_format_error(c: Court) -> None:
    for bad in (b"", b"{}", b'{"origin":"x","root":"y","size":1}', c.ledger.head_file.read_bytes() + b"\n"):
        c.ledger.head_file.write_bytes(bad)
        with pytest.raises(LedgerFormatError) as caught:
            c.ledger.read()
        assert caught.value.code == "broken_head"


def test_without_a_head_the_first_statement_names_the_ledger(c: Court) -> None:
    origin = c.ledger.read().origin
    c.ledger.head_file.unlink()
    assert c.ledger.read().origin == origin
    c.register("h1")
    assert json.loads(c.ledger.head_file.read_bytes())["origin"] == origin


def test_a_read_only_copy_can_be_read(c: Court, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "receipts.jsonl").write_bytes(c.ledger.file.read_bytes())
    copy.chmod(0o500)
    assert Ledger(copy / "receipts.jsonl").read().head == c.ledger.read().head
    assert [path.name for path in copy.iterdir()] == ["receipts.jsonl"]
    assert LedgerView.from_bytes(c.ledger.file.read_bytes()).root == c.ledger.read().root


def test_a_symbolic_link_is_not_followed_for_writing(c: Court, tmp_path: Path) -> None:
    target = tmp_path / "target"
    c.ledger.file.rename(target)
    c.ledger.file.symlink_to(target)
    before = target.read_bytes()
    assert code_of(lambda: c.register("h1")) == "ledger_unwritable"
    assert target.read_bytes() == before


def test_a_short_write_is_taken_back(c: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    before, real = c.ledger.file.read_bytes(), os.write
    statement = registration(c.ledger.read(), c.registry, c.eva.id, "h1")
    monkeypatch.setattr("core.files.os.write", lambda descriptor, data: real(descriptor, data[:-5]))
    assert code_of(lambda: append(c.ledger, statement, c.eva, c.rules)) == "ledger_unwritable"
    monkeypatch.undo()
    assert c.ledger.file.read_bytes() == before


def test_threads_race_for_one_round_and_one_wins(c: Court) -> None:
    view = c.ledger.read()
    prepared = [(decision(view, c.registry, who.id, view.entries[3], comment=str(n)), who) for n in range(4) for who in (c.ben, c.eva)]
    outcomes: list[str] = []
    barrier = threading.Barrier(len(prepared))

    def run(statement: object, who: object) -> None:
        barrier.wait()
        try:
            append(c.ledger, statement, who, c.rules)  # type: ignore[arg-type]
            outcomes.append("appended")
        except LedgerError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=run, args=pair) for pair in prepared]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("appended") == 1
    assert set(outcomes) <= {"appended", "already_decided", "round_closed"}
    assert c.ledger.read().size == 5


def _register_many(c: Court, worker: int, count: int, results: multiprocessing.Queue[list[int]]) -> None:
    results.put([c.register(f"worker {worker} item {number}").index for number in range(count)])


def test_processes_append_at_once_and_no_line_is_lost(c: Court) -> None:
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[list[int]] = context.Queue()
    workers = [context.Process(target=_register_many, args=(c, worker, 8, results)) for worker in range(4)]
    for worker in workers:
        worker.start()
    indexes = [index for _ in workers for index in results.get()]
    for worker in workers:
        worker.join()
    assert sorted(indexes) == list(range(4, 36))
    view = c.ledger.read()
    assert view.size == 36
    assert len({entry.statement.predicate["nonce"] for entry in view.entries}) == 36


VICTIM = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support_signing import court
made = court(Path(sys.argv[2]))
number = 0
while True:
    entry = made.register(f"h{number}")
    sys.stdout.write(f"{entry.index} {entry.digest}\\n")      # the acknowledgement
    sys.stdout.flush()
    number += 1
"""


def test_kill_minus_nine_at_random_moments_loses_no_acknowledged_receipt(tmp_path: Path) -> None:
    picker = random.Random(9)
    acknowledged: dict[int, str] = {}
    ledger = Ledger(tmp_path / "ledger" / "receipts.jsonl")
    for _ in range(6):
        victim = subprocess.Popen([sys.executable, "-c", VICTIM, str(HERE), str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert victim.stdout is not None
        first = victim.stdout.readline()                 # it is up and appending
        time.sleep(picker.random() * 0.05)
        victim.send_signal(signal.SIGKILL)
        rest = victim.stdout.read()
        victim.wait()
        victim.stdout.close()
        for line in (first + rest).splitlines():
            index, _, digest = line.partition(" ")
            if len(digest) == 64:
                acknowledged[int(index)] = digest
        view = ledger.read()
        assert view.size >= len(acknowledged)
        assert {index: view.entries[index].digest for index in acknowledged} == acknowledged
    assert len(acknowledged) >= 6


@pytest.mark.parametrize("cut", [1, 7, 100, 2000])
def test_a_line_cut_anywhere_is_repaired(c: Court, cut: int) -> None:
    """What a crash of the machine may leave: any prefix of the last line, with the head not yet renamed."""
    lines = lines_of(c)
    write(c, lines[:3], head=True)
    c.ledger.file.write_bytes(b"".join(line + b"\n" for line in lines[:3]) + lines[3][:cut])
    assert c.ledger.read().torn == min(cut, len(lines[3]))
    c.register("after")
    view = c.ledger.read()
    assert (view.size, view.torn) == (4, 0)
    assert [entry.line for entry in view.entries[:3]] == lines[:3]
