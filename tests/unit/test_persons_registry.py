"""The registry: strict loading, nothing shared between two persons, who is whom, and who may do what."""
from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.errors import IdentityError, RegistryError, SignatureError
from core.persons.authority import authorised_key, authorised_person
from core.persons.publickey import PublicKey, public_key
from core.persons.registry import Registry, same_person, self_review

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def fresh_key() -> PublicKey:
    return public_key(Ed25519PrivateKey.generate().public_key().public_bytes_raw())


ANA, BEN, BOT = fresh_key(), fresh_key(), fresh_key()


def key_table(owner: str, key: PublicKey, extra: str = "", group: str = "persons") -> str:
    return f'[{group}."{owner}".keys."{key.keyid}"]\npublic = "{key.openssh}"\n{extra}\n'


BASE = f"""registry_version = 1
[persons."ana@example.org"]
roles = ["proposer", "reviewer"]
ids = ["ana.k@example.com"]
aliases = ["Curator-A"]
oidc = [{{iss = "https://id.example.org", sub = "1"}}]
[persons."ben@example.org"]
roles = ["reviewer"]
{key_table("ana@example.org", ANA)}
{key_table("ben@example.org", BEN)}
[agents."nightly"]
owner = "curator-a"
roles = ["proposer"]
{key_table("nightly", BOT, group="agents")}
[agents."hourly"]
owner = "ana.k@example.com"
roles = ["reviewer"]
"""


def load(text: str) -> Registry:
    return Registry.from_bytes(text.encode())


def refused(text: str | bytes) -> RegistryError:
    with pytest.raises(RegistryError) as caught:
        Registry.from_bytes(text if isinstance(text, bytes) else text.encode())
    assert caught.value.exit_code == 4
    return caught.value


def test_loads_and_finds_by_every_name_and_by_key() -> None:
    registry = load(BASE)
    assert registry.digest == hashlib.sha256(BASE.encode()).hexdigest()
    for name in ("ana@example.org", "ANA.K@example.com.", "curator-a+night", " Ana+x@example.org"):
        person = registry.find(name)
        assert person is not None and person.id == "ana@example.org"
    assert registry.find("carl@example.org") is None
    found = registry.by_keyid(BEN.keyid)
    assert found is not None and found[0].id == "ben@example.org" and found[1].public == BEN
    assert registry.by_keyid("SHA256:none") is None
    assert registry.key("Curator-A") == "ana@example.org"


def test_a_table_may_be_added_at_the_end() -> None:
    more = fresh_key()
    registry = load(BASE + key_table("ana@example.org", more))
    found = registry.by_keyid(more.keyid)
    assert found is not None and found[0].id == "ana@example.org"


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = " + "{b = " * 100_000, "[" + "a." * 100_000 + "a]"])
def test_nesting_without_end_is_refused(text: str) -> None:
    with pytest.raises(RegistryError) as caught:
        Registry.from_bytes(f"registry_version = 1\n{text}\n".encode())
    assert caught.value.exit_code == 4


def test_a_registry_is_read_once_while_its_bytes_stay_the_same(tmp_path: Path) -> None:
    file = tmp_path / "reviewers.toml"
    file.write_bytes(b"registry_version = 1\n")
    first = Registry.load(file)
    assert Registry.load(file) is first
    file.write_bytes(b"registry_version = 1\n\n")
    assert Registry.load(file).digest != first.digest
    file.write_bytes(b"registry_version = 2\n")
    for _ in range(2):
        with pytest.raises(RegistryError):
            Registry.load(file)


def test_load_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "reviewers.toml").write_text(BASE)
    assert Registry.load(tmp_path / "reviewers.toml").digest == load(BASE).digest
    with pytest.raises(RegistryError) as caught:
        Registry.load(tmp_path / "absent.toml")
    assert caught.value.code == "registry_unreadable"


@pytest.mark.parametrize(
    ("addition", "code"),
    [
        ('[persons."carl@example.org"]\naliases = ["curator-a"]', "alias_claimed_twice"),
        ('[persons."carl@example.org"]\naliases = ["ANA+x@example.org"]', "alias_claimed_twice"),
        ('[persons."BEN@example.org"]', "alias_claimed_twice"),
        ('[agents."ana.k@example.com"]\nowner = "ben@example.org"', "alias_claimed_twice"),
        ('[persons."carl@example.org"]\n' + key_table("carl@example.org", ANA), "key_under_two_persons"),
        ('[persons."carl@example.org"]\noidc = [{iss = "https://id.example.org", sub = "1"}]', "login_under_two_persons"),
        ('[agents."loop"]\nowner = "nightly"', "owner_not_a_person"),
        ('[agents."lost"]\nowner = "nobody"', "owner_not_a_person"),
        ('[agents."free"]\nroles = ["proposer"]', "agent_without_owner"),
        ('[persons."ben@example.org"]', "not_toml"),
        ('[persons."carl"]\nowner = "ben@example.org"', "unknown_registry_field"),
        ('[persons."carl"]\nrole = ["reviewer"]', "unknown_registry_field"),
        ('[persons."carl"]\nroles = ["admin"]', "unknown_role"),
        ('[persons."carl"]\nroles = "reviewer"', "wrong_type"),
        ('[persons."carl"]\nexpires = "tomorrow"', "wrong_type"),
        ('[persons."carl"]\nexpires = 2027-01-31T00:00:00', "wrong_type"),
        ('[persons."carl"]\nexpires = 2027-01-31T00:00:00+01:00', "wrong_type"),
        ('[persons."carl"]\nrevoked_from_index = -1', "wrong_type"),
        ('[persons."carl"]\nrevoked_from_index = true', "wrong_type"),
        ('[persons."Carl Lee"]', "id_grammar"),
        ('[persons."c\u0430rl"]', "id_grammar"),
        ('[persons."carl"]\naliases = [7]', "id_not_text"),
        ('[persons."carl"]\n[persons."carl".keys."SHA256:x"]\npublic = "ssh-rsa AAAA"', "unknown_key_type"),
        ('[persons."carl"]\n[persons."carl".keys."SHA256:x"]\npublic = "' + fresh_key().openssh + '"', "keyid_mismatch"),
        ('[persons."carl"]\n[persons."carl".keys."SHA256:x"]\npublic = "' + PublicKey(b"\x01" + bytes(31)).openssh + '"', "weak_key"),
        ('[persons."carl"]\n[persons."carl".keys."SHA256:x"]\n', "wrong_type"),
        ("[things]", "unknown_registry_field"),
    ],
)
def test_refuses_to_load(addition: str, code: str) -> None:
    assert refused(BASE + addition + "\n").code == code


def test_refuses_other_files() -> None:
    assert refused("").code == "unknown_registry_version"
    assert refused("registry_version = 2\n").code == "unknown_registry_version"
    assert refused("registry_version = true\n").code == "unknown_registry_version"
    assert refused("\ufeff" + BASE).code == "byte_order_mark"
    assert refused(b"\xff\xfea\x00").code == "utf16"
    assert refused("registry_version = 1\npersons = 3\n").code == "wrong_type"


def test_errors_name_the_field_and_suggest() -> None:
    error = refused(BASE + '[persons."carl"]\nrole = ["reviewer"]\n')
    assert error.where is not None and error.where.field == "persons.carl.role"
    assert "did you mean roles" in str(error)


def test_toml_times_in_utc_are_times() -> None:
    for written in ('"2027-01-31T00:00:00Z"', "2027-01-31T00:00:00Z", "2027-01-31T00:00:00+00:00"):
        person = load(BASE + f'[persons."carl"]\nexpires = {written}\n').find("carl")
        assert person is not None and person.expires == datetime(2027, 1, 31, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ana@example.org", "Curator-A", True),
        ("ana.k@example.com", "ana+q@example.org", True),
        ("nightly", "ana@example.org", True),         # an agent and who answers for it
        ("nightly", "hourly", True),                  # two agents of one person
        ("nightly", "ben@example.org", False),
        ("ana@example.org", "ben@example.org", False),
        ("stranger", "ANA@example.org", False),
        ("stranger", "Stranger+1", True),
    ],
)
def test_same_person_with_a_registry(one: str, other: str, same: bool) -> None:
    registry = load(BASE)
    assert same_person(one, other, registry) is same
    assert same_person(other, one, registry) is same


def test_same_person_without_a_registry_compares_keys_alone() -> None:
    assert same_person("ana+x@example.org", "ＡＮＡ@example.org.")
    assert not same_person("ana@example.org", "curator-a")
    for nobody in ("", None, ["ana"], "Ana <ana@example.org>", "\u0430na@example.org"):
        with pytest.raises(IdentityError):
            same_person(nobody, "ana@example.org")


def test_self_review_names_the_co_proposer() -> None:
    registry = load(BASE)
    assert self_review("ben@example.org", ["nightly", "ana@example.org"], registry) is None
    assert self_review("Curator-A", ["ben@example.org", "nightly"], registry) == "nightly"


def test_authorised_person() -> None:
    soon = "2026-03-01T12:00:01Z"
    registry = load(BASE + f'[persons."carl"]\nroles = ["reviewer"]\nexpires = "{soon}"\nrevoked_from_index = 7\n[persons."dora"]\n')
    assert authorised_person(registry, "Carl", "reviewer", at=NOW, index=6).id == "carl"
    assert authorised_person(registry, "carl", None, at=NOW, index=6).id == "carl"
    for name, role, at, index, code in [
        ("carl", "proposer", NOW, 0, "wrong_role"), ("dora", None, NOW, 0, "wrong_role"), ("ed", "reviewer", NOW, 0, "unknown_person"),
        ("carl", "reviewer", NOW + timedelta(seconds=1), 0, "expired"),
        ("carl", "reviewer", NOW, 7, "revoked"), (None, "reviewer", NOW, 0, "id_not_text"),
    ]:
        with pytest.raises(IdentityError) as caught:
            authorised_person(registry, name, role, at=at, index=index)  # type: ignore[arg-type]
        assert caught.value.code == code and caught.value.exit_code == 5


def test_authorised_key() -> None:
    old, lost = fresh_key(), fresh_key()
    limited = key_table("ben@example.org", old, 'expires = "2026-01-01T00:00:00Z"') + key_table("ben@example.org", lost, "revoked_from_index = 3")
    registry = load(BASE + limited)
    ben = registry.find("ben@example.org")
    assert ben is not None
    assert authorised_key(registry, BEN.keyid, ben, at=NOW, index=0).public == BEN
    assert authorised_key(registry, lost.keyid, ben, at=NOW, index=2).public == lost
    for keyid, code in [(ANA.keyid, "anothers_key"), ("SHA256:none", "unknown_key"), (old.keyid, "expired"), (lost.keyid, "revoked")]:
        with pytest.raises((IdentityError, SignatureError)) as caught:
            authorised_key(registry, keyid, ben, at=NOW, index=3)
        assert caught.value.code == code and caught.value.exit_code == 5
