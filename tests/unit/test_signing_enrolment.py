"""Enrolment requests and merging them: possession is proved, nobody enrols themselves, what was there stays untouched."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_signing import NOW, Actor

from core.canonical import canonical_bytes
from core.errors import CountersignError
from core.persons.publickey import PublicKey
from core.signing.dsse import seal
from core.signing.enrolment import REQUEST_TYPE, EnrolmentRequest, enrol, make_request, read_request

ANA, BEN, EVA = Actor("ana@example.org"), Actor("ben@example.org"), Actor("eva@example.org")


def request_of(actor: Actor, identifier: str | None = None) -> EnrolmentRequest:
    return read_request(make_request(identifier or actor.id, actor.public, actor, NOW))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "w" / "reviewers.toml"
    enrol(path, request_of(ANA), "ben@example.org", NOW, roles=["proposer"], aliases=["Curator-A"])
    return path


def refused(code: str, exit_code: int, path: Path, request: EnrolmentRequest, by: str, **more: Any) -> CountersignError:
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(CountersignError) as caught:
        enrol(path, request, by, NOW, **more)
    assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    assert (path.read_bytes() if path.exists() else None) == before
    return caught.value


def test_two_people_enrol_each_other(file: Path) -> None:
    first = file.read_text()
    registry = enrol(file, request_of(BEN), "curator-a", NOW, roles=["reviewer"], expires="2027-01-31T00:00:00Z")
    assert file.read_text().startswith(first.rstrip())                     # nothing that was there is touched
    ana, ben = registry.find("ana@example.org"), registry.find("BEN@example.org")
    assert ana is not None and ben is not None
    assert (ana.roles, ana.names) == ({"proposer"}, ("ana@example.org", "curator-a"))
    assert [key.public for key in ben.keys] == [BEN.public] and ben.keys[0].expires is not None
    assert 'enrolled_by = "curator-a"' in file.read_text()


def test_a_second_key(file: Path) -> None:
    enrol(file, request_of(BEN), "ana@example.org", NOW, roles=["reviewer"])
    new = Actor("ana@example.org")
    registry = enrol(file, request_of(new, "Ana+laptop@example.org"), "ben@example.org", NOW)
    ana = registry.find("ana@example.org")
    assert ana is not None and {key.keyid for key in ana.keys} == {ANA.public.keyid, new.public.keyid}
    refused("already_enrolled", 4, file, request_of(Actor("ana@example.org")), "ben@example.org", roles=["reviewer"])


def test_comments_in_the_file_stay(file: Path) -> None:
    file.write_text("# kept by the release team\n" + file.read_text())
    enrol(file, request_of(BEN), "ana@example.org", NOW, roles=["reviewer"])
    assert file.read_text().startswith("# kept by the release team\n")


@pytest.mark.parametrize("by", ["eva@example.org", "EVA@example.org", "eva+x@example.org", " eva@example.org. "])
def test_nobody_enrols_themselves(file: Path, tmp_path: Path, by: str) -> None:
    refused("self_enrolment", 5, file, request_of(EVA), by, roles=["reviewer"])
    refused("self_enrolment", 5, tmp_path / "new.toml", request_of(EVA), by, roles=["reviewer"])


def test_nor_their_agents_nor_under_an_alias(file: Path) -> None:
    bot = Actor("bot")
    refused("self_enrolment", 5, file, request_of(bot), "curator-a", roles=["proposer"], owner="ana@example.org")
    refused("self_enrolment", 5, file, request_of(Actor("ana@example.org")), "curator-a")
    enrol(file, request_of(BEN), "ana@example.org", NOW, roles=["reviewer"])
    registry = enrol(file, request_of(bot), "ben@example.org", NOW, roles=["proposer"], owner="Ana@example.org")
    found = registry.find("bot")
    assert found is not None and found.owner == "ana@example.org"


def test_refusals(file: Path) -> None:
    refused("unknown_person", 5, file, request_of(BEN), "eva@example.org", roles=["reviewer"])
    refused("role_missing", 4, file, request_of(BEN), "ana@example.org")
    refused("role_missing", 4, file, request_of(BEN), "ana@example.org", roles=['reviewer", "x'])
    refused("wrong_type", 4, file, request_of(BEN), "ana@example.org", roles=["reviewer"], expires='2027"\nroles = ["proposer"]')
    refused("alias_claimed_twice", 4, file, request_of(BEN), "ana@example.org", roles=["reviewer"], aliases=["curator-a"])
    refused("key_under_two_persons", 4, file, request_of(ANA, "carl"), "ana@example.org", roles=["reviewer"])
    refused("id_grammar", 5, file, request_of(BEN), "ana@example.org", roles=["reviewer"], aliases=['x"]\n'])
    refused("owner_not_a_person", 4, file, request_of(BEN), "ana@example.org", roles=["reviewer"], owner="nobody")


def test_a_request_proves_possession() -> None:
    good = make_request("Ana@example.org", ANA.public, ANA, NOW)
    assert read_request(good) == EnrolmentRequest("ana@example.org", ANA.public, "2026-03-01T12:00:00Z")
    for data, code, exit_code in [
        (make_request("ana@example.org", ANA.public, BEN, NOW), "wrong_type", 4),         # signed by another key
        (good[:-1], "not_json", 4), (good.replace(b"enrolment+json", b"in-toto+json  "), "wrong_type", 4),
    ]:
        with pytest.raises(CountersignError) as caught:
            read_request(data)
        assert (caught.value.code, caught.value.exit_code) == (code, exit_code)
    with pytest.raises(CountersignError) as caught:
        make_request("Ana <a@b>", ANA.public, ANA, NOW)
    assert caught.value.code == "id_grammar"


def request_document(public: PublicKey) -> dict[str, Any]:
    return {"enrolment_version": 1, "id": "ben@example.org", "public_key": public.openssh, "requestedAt": "2026-03-01T12:00:00Z", "nonce": "00"}


def test_a_forged_request_is_refused() -> None:
    """Ben puts his id beside Ana's key, and her signature over something else."""
    document = request_document(ANA.public)
    payload = canonical_bytes(document)
    envelope = json.loads(seal(REQUEST_TYPE, payload, ANA).encoded)
    other = json.loads(make_request("ana@example.org", ANA.public, ANA, NOW))
    envelope["signatures"] = other["signatures"]
    with pytest.raises(CountersignError) as caught:
        read_request(canonical_bytes(envelope))
    assert caught.value.code == "bad_signature"
    for change in ({"enrolment_version": 2}, {"id": "Ben@example.org"}, {"extra": 1}, {"public_key": ANA.public.openssh + " comment"}):
        with pytest.raises(CountersignError):
            read_request(seal(REQUEST_TYPE, canonical_bytes(document | change), ANA).encoded)


def test_a_weak_key_cannot_be_enrolled() -> None:
    weak = PublicKey(b"\x01" + bytes(31))
    document = request_document(weak)
    envelope = json.loads(seal(REQUEST_TYPE, canonical_bytes(document), ANA).encoded)
    envelope["signatures"][0]["keyid"] = weak.keyid
    with pytest.raises(CountersignError) as caught:
        read_request(canonical_bytes(envelope))
    assert (caught.value.code, caught.value.exit_code) == ("weak_key", 5)
