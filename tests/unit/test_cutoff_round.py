"""A training cut-off as a round declares it: read, stored only where declared, reported by the decision, exported, never deciding."""
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support_cli import Runner
from support_desk import Desk
from support_export import approved_round, signed_export
from support_rounds import ROUND, bundle, bundle_file, folder_of, ingested, nothing_written, pair, round_of, tables_of, workspace_at

from core.canonical import canonical_digest
from core.errors import RoundError
from core.export.cutoff import spelled
from core.gates.assessment import Assessment, load_or_assess
from core.gates.confirmed import confirmed_assessment
from core.gates.cutoff import CutOffReport
from core.gates.receipt import decide
from core.grid import default_grid
from core.pairs.cutoff import CutOff, Equal
from core.pairs.cutoff_batch import EqualPair
from core.rounds.folder import Round
from core.rounds.manifest import RoundManifest
from core.settings import SETTINGS
from core.signing.evidence import EvidenceStore
from core.signing.export import make_export
from core.signing.grids import AcceptedGrids
from core.signing.verify import verify_export

HEAD = " ".join(f"token{number}" for number in range(1100))
DECLARED = {"length": 1024, "counts": "completion_tokens", "keeps": "start"}


def different(number: int, **changes: Any) -> dict[str, Any]:
    """A pair whose texts are its own, so that no key is shared."""
    return pair(pair_id=f"p-{number}", prompt=f"Ask {number}", chosen=f"Use a lock {number}", rejected=f"Write at once {number}", **changes)


LATE = different(3) | {
    "chosen": f"{HEAD} yes", "rejected": f"{HEAD} no", "chosen_token_count": 1101, "rejected_token_count": 1101,
    "policy_logp_chosen": -200.0, "ref_logp_chosen": -220.0,
}
ROWS = [
    different(1) | {"chosen": "Use a lock.", "rejected": "Use a lock."}, different(2) | {"chosen": "Use a lock.", "rejected": "Use a lock. "}, LATE,
    different(4),
]


def whole(place: Path, rows: list[dict[str, Any]], **about: Any) -> tuple[Round, Assessment]:
    """The worked example with these pairs in place of its own."""
    document = bundle()
    source, _ = ingested(place, folder_of(place / "input", tables_of(document) | {"pairs": rows}, about=round_of(document) | about))
    return source, load_or_assess(workspace_at(place), source, default_grid())


def test_case_1_the_late_difference_is_kept_with_a_warning_that_names_the_cut_off(tmp_path: Path) -> None:
    """Of four pairs two are identical; two are admitted, and the one of 1,101 tokens a side is equal under a cut at 1,024."""
    _, assessment = whole(tmp_path, ROWS, training_cutoff=DECLARED)
    table = assessment.reason_table
    assert {name: table[name] for name in ("in", "admitted", "rejected", "held", "quarantined")} == {
        "in": 4, "admitted": 2, "rejected": 2, "held": 0, "quarantined": 0}
    assert (table["reasons"]["invalid_record"], table["reasons"]["duplicate"]) == (2, 0)
    curation, cut = assessment.document["curation"], assessment.document["cutoff"]
    assert {code: pairs for code, pairs in curation["sub_codes"].items() if pairs} == {"identical": 1, "identical_after_trim": 1}
    assert (cut["declared"], cut["pairs"], cut["left_out"]) == (DECLARED, 2, 0)
    assert (cut["chosen_cut"], cut["rejected_cut"], cut["chosen_cut_estimated"], cut["rejected_cut_estimated"]) == (1, 1, 0, 0)
    assert cut["equal"] == {"total": 1, "exact": 0, "proved": 1, "estimated": 0, "nothing_left": 0}
    (found,) = cut["listed"]
    # test_cutoff.py has the arithmetic: 9,890 characters and 1,101 - 1 - 3 = 1,097 tokens
    assert (found["pair_id"], found["ordinal"], found["basis"], found["shared_characters"], found["shared_tokens_at_least"]) == (
        "p-3", 2, "proved", 9890, 1097)
    assert found["text"] == (
        "Cut to the first 1,024 tokens of each answer, chosen and rejected are the same (proved): 9,890 characters at the start are the same, "
        "at least 1,097 tokens.")
    assert cut["sentences"] == [
        "Training keeps the first 1,024 tokens of each answer: that makes chosen and rejected equal in 1 of 2 admitted pairs (1 proved), pair p-3. "
        "A cut-off rejects none: they are kept, and would train nothing.",
        "Of the admitted pairs it cuts 1 chosen answer and 1 rejected answer.",
    ]
    assert assessment.document["notes"] == [{"code": "equal_under_cutoff", "text": cut["sentences"][0]}]


def test_without_a_declaration_nothing_is_said_and_the_digest_stays(tmp_path: Path) -> None:
    source, assessment = whole(tmp_path, ROWS)
    assert "cutoff" not in assessment.document and assessment.document["notes"] == [] and source.manifest.cutoff is None
    document = json.loads((source.path / "round.json").read_text("utf-8"))
    assert "training_cutoff" not in document and document["schema_version"] == 1
    declared, _ = whole(tmp_path / "other", ROWS, training_cutoff=DECLARED)
    stored = json.loads((declared.path / "round.json").read_text("utf-8"))
    # the declaration and the version are all that differs
    assert (stored.pop("training_cutoff"), stored.pop("schema_version")) == (DECLARED, 6)
    assert stored == {name: value for name, value in document.items() if name != "schema_version"}
    assert declared.digest == canonical_digest(stored | {"training_cutoff": DECLARED, "schema_version": 6}) != source.digest


def test_it_decides_nothing(tmp_path: Path) -> None:
    """Receipt, admitted pairs, checks and strength are those of the same round without a declaration."""
    _, plain = whole(tmp_path, ROWS)
    _, cut = whole(tmp_path / "cut", ROWS, training_cutoff=DECLARED)
    assert decide(plain, "worker-verifier-02").receipt_bytes == decide(cut, "worker-verifier-02").receipt_bytes
    assert plain.admitted_pairs_bytes() == cut.admitted_pairs_bytes()
    assert (plain.checks, plain.strength, plain.verdict) == (cut.checks, cut.strength, cut.verdict)


def test_only_admitted_pairs_are_counted(tmp_path: Path) -> None:
    """The same late difference on a pair that duplicates a better one (it sorts before it by loss) and on one with too low a margin."""
    worse = LATE | {"pair_id": "p-9", "policy_logp_chosen": -210.0, "ref_logp_chosen": -225.0}
    low = LATE | {"pair_id": "p-8", "prompt": "Other", "chosen": f"{HEAD} oui", "policy_logp_chosen": -240.0}
    _, assessment = whole(tmp_path, [*ROWS, worse, low], training_cutoff=DECLARED)
    assert (assessment.reason_table["reasons"]["duplicate"], assessment.reason_table["admitted"]) == (1, 2)
    assert [item["pair_id"] for item in assessment.document["cutoff"]["listed"]] == ["p-3"]
    assert assessment.document["cutoff"]["chosen_cut"] == 1


def test_the_keys_of_duplicates_add_up_to_them(tmp_path: Path) -> None:
    """p-5 has the prompt and the chosen answer of p-4 and another rejected answer; p-6 has all three but for markdown and case."""
    rows = [different(4), different(5) | {"prompt": "Ask 4", "chosen": "Use a lock 4"} | {"policy_logp_chosen": -21.0},
            different(6) | {"prompt": "ask 4", "chosen": "**Use** a lock 4", "rejected": "Write  at once 4"}]
    _, assessment = whole(tmp_path, rows)
    keys = ["prompt_normalized_sha256", "chosen_structural_skeleton_sha256", "joint_transition_pair_sha256"]
    assert assessment.document["curation"]["duplicate_keys"] == [{"keys": keys[:2], "pairs": 1}, {"keys": keys, "pairs": 1}]
    assert assessment.reason_table["reasons"]["duplicate"] == 2


@pytest.mark.parametrize(("declared", "code", "field"), [
    ({"length": 0, "counts": "completion_tokens"}, "out_of_range", "training_cutoff.length"),
    ({"length": -1, "counts": "completion_tokens"}, "out_of_range", "training_cutoff.length"),
    ({"length": 1024.0, "counts": "completion_tokens"}, "wrong_type", "training_cutoff.length"),
    ({"length": True, "counts": "completion_tokens"}, "wrong_type", "training_cutoff.length"),
    ({"length": "1024", "counts": "completion_tokens"}, "wrong_type", "training_cutoff.length"),
    ({"counts": "completion_tokens"}, "missing_field", "training_cutoff.length"),
    ({"length": 1024}, "missing_field", "training_cutoff.counts"),
    ({"length": 1024, "counts": "words"}, "unknown_value", "training_cutoff.counts"),
    ({"length": 1024, "counts": "completion_tokens", "keeps": "middle"}, "unknown_value", "training_cutoff.keeps"),
    ({"length": 1024, "counts": "completion_tokens", "side": "left"}, "unknown_key", "training_cutoff.side"),
    (1024, "wrong_type", "training_cutoff"), ([], "wrong_type", "training_cutoff"),
])
def test_a_declaration_that_says_something_else_is_refused_by_its_place(tmp_path: Path, declared: Any, code: str, field: str) -> None:
    place = folder_of(tmp_path / "input", {"pairs": ROWS}, about=ROUND | {"training_cutoff": declared})
    with pytest.raises(RoundError) as caught:
        ingested(tmp_path, place)
    assert (caught.value.code, caught.value.where.field, caught.value.exit_code) == (code, field, 4) and nothing_written(tmp_path)


def test_a_stored_round_says_it_whole(tmp_path: Path) -> None:
    """``keeps`` is the start where a proposer leaves it out, and null is no declaration; a stored document lacks nothing and has no null."""
    source, _ = ingested(tmp_path, folder_of(tmp_path / "input", {"pairs": ROWS}, about=ROUND | {
        "training_cutoff": {"length": 7, "counts": "completion_characters"}}))
    assert source.manifest.cutoff == CutOff(7, "completion_characters", "start")
    none, _ = ingested(tmp_path, folder_of(tmp_path / "none", {"pairs": ROWS}, about=ROUND | {"training_cutoff": None}))
    assert none.manifest.cutoff is None
    document = source.manifest.document()
    half = {"length": 7, "counts": "completion_characters"}
    for change, code in (({"training_cutoff": None}, "wrong_type"), ({"training_cutoff": half}, "missing_field"),
                         ({"schema_version": 1}, "unknown_schema_version")):
        with pytest.raises(RoundError) as caught:
            RoundManifest.from_document(document | change)
        assert caught.value.code == code
    with pytest.raises(RoundError, match="6, for a round with these parts"):
        RoundManifest.from_document(document | {"schema_version": 4})


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    yield Runner(tmp_path / "workspace", capsys, monkeypatch)


OPTIONS = ("--cutoff", 1024, "--cutoff-counts", "sequence_tokens", "--cutoff-keeps", "end")


def test_the_options_of_ingest_declare_it_for_any_input(tmp_path: Path, cli: Runner) -> None:
    foreign = tmp_path / "mine.jsonl"
    foreign.write_text(json.dumps({"prompt": "Say hi.", "chosen": "Hi.", "rejected": "No."}) + "\n", "utf-8")
    inputs = {
        "file": (foreign, "--format", "trl", "--proposer", "me", "--option", "ids=line", "--option", "origin=verified"),
        "folder": (folder_of(tmp_path / "input", {"pairs": ROWS}),), "bundle": (bundle_file(tmp_path, bundle()),),
    }
    for name, arguments in inputs.items():
        code, out, err = cli("ingest", *arguments, "--round-id", name, *OPTIONS)
        assert (code, err) == (0, "")
        assert "note [training_cutoff] declared: training keeps the last 1,024 tokens of prompt and answer together" in out
        _, shown = cli.document("round", "show", name)
        assert shown["manifest"]["training_cutoff"] == {"length": 1024, "counts": "sequence_tokens", "keeps": "end"}
        assert "training cut-off  the last 1,024 tokens of prompt and answer together" in cli("round", "show", name)[1]


@pytest.mark.parametrize(("options", "said"), [
    (("--cutoff", 1024), "--cutoff-counts"), (("--cutoff-counts", "completion_tokens"), "--cutoff"), (("--cutoff-keeps", "end"), "--cutoff"),
])
def test_half_a_declaration_is_a_fault_of_usage(tmp_path: Path, cli: Runner, options: tuple[object, ...], said: str) -> None:
    code, _, err = cli("ingest", folder_of(tmp_path / "input", {"pairs": ROWS}), *options)
    assert code == 2 and said in err


def test_an_option_that_contradicts_the_input_is_refused_and_one_that_repeats_it_is_not(tmp_path: Path, cli: Runner) -> None:
    place = folder_of(tmp_path / "input", {"pairs": ROWS}, about=ROUND | {"training_cutoff": DECLARED})
    code, _, err = cli("ingest", place, "--cutoff", 512, "--cutoff-counts", "completion_tokens")
    assert code == 4 and "said_twice" in err and "the first 1,024 tokens of each answer" in err and "the first 512 tokens" in err
    code, _, err = cli("ingest", place, "--cutoff", 0, "--cutoff-counts", "completion_tokens")
    assert code == 4 and "out_of_range" in err
    assert cli("ingest", place, "--cutoff", 1024, "--cutoff-counts", "completion_tokens")[0] == 0


def lines_of(out: str, first: str, last: str) -> list[list[str]]:
    """The cells of a printed table between two lines, two spaces apart."""
    lines = out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(first))
    stop = next(place for place, line in enumerate(lines) if line.startswith(last))
    return [line.split() for line in lines[start + 1:stop]]


def test_decide_shows_what_a_reason_is_made_up_of_and_the_pairs_that_become_equal(tmp_path: Path, cli: Runner) -> None:
    rows = [*ROWS, different(5) | {"prompt": "Ask 4", "chosen": "Use a lock 4", "policy_logp_chosen": -21.0}]
    document = bundle()
    place = folder_of(tmp_path / "input", tables_of(document) | {"pairs": rows}, about=round_of(document) | {"training_cutoff": DECLARED})
    cli("ingest", place)
    code, out, _ = cli("decide", "round-07")
    assert code == 0 and "Pairs: 5 in = 2 admitted + 3 rejected + 0 held + 0 quarantined" in out
    assert lines_of(out, "rejected because", "Training keeps") == [
        ["invalid_record", "2"], ["identical", "1"], ["identical_after_trim", "1"], ["duplicate", "1"],
        ["same", "prompt_normalized_sha256,", "chosen_structural_skeleton_sha256", "1"]]
    assert "that makes chosen and rejected equal in 1 of 2 admitted pairs (1 proved), pair p-3." in out
    assert "p-3   proved     Cut to the first 1,024 tokens of each answer" in out and "A round holds no token ids" in out
    code, shown = cli.document("decide", "round-07")
    assert code == 0 and shown["assessment"]["cutoff"]["listed"][0]["pair_id"] == "p-3"


def test_a_cut_off_that_hits_nothing_says_so(tmp_path: Path, cli: Runner) -> None:
    document = bundle()
    cli("ingest", folder_of(tmp_path / "input", tables_of(document) | {"pairs": ROWS}, about=round_of(document)),
        "--cutoff", 1101, "--cutoff-counts", "completion_tokens")
    _, out, _ = cli("decide", "round-07")
    assert "Training keeps the first 1,101 tokens of each answer: no admitted pair was found that this makes equal." in out
    assert "Of the admitted pairs it cuts 0 chosen answers and 0 rejected answers." in out and "Equal under the cut-off" not in out


def test_more_pairs_than_are_listed_are_counted() -> None:
    limit = SETTINGS["cutoff"]["listed"]
    found = tuple(EqualPair(place, place, f"p-{place}", Equal("exact", 3)) for place in range(limit + 2))
    nothing = {"chosen": 0, "rejected": 0}
    document = CutOffReport(CutOff(3, "completion_characters"), limit + 2, nothing, nothing, found).as_dict()
    assert (len(document["listed"]), document["left_out"], document["equal"]["total"], document["not_known"]) == (limit, 2, limit + 2, [])


@pytest.fixture(scope="module")
def approved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Round]:
    about = {"training_cutoff": {"length": 1024, "counts": "sequence_tokens"}}
    return approved_round(tmp_path_factory.mktemp("approved"), [LATE], about=about)


def test_a_decision_on_such_a_round_verifies_and_signs_no_member_more(approved: tuple[Desk, Round], tmp_path: Path) -> None:
    made, source = approved
    view = made.ledger.read()
    plain, other = approved_round(tmp_path / "plain", [LATE])
    statements = [desk.ledger.read().entries[-1].statement.predicate for desk in (made, plain)]
    assert set(statements[0]) == set(statements[1]) and "cutoff" not in json.dumps(statements[0])
    assert statements[0]["receipt"] == statements[1]["receipt"] and statements[0]["strength"] == statements[1]["strength"]
    assert statements[0]["round_digest"] == source.digest != other.digest
    export = make_export(view, view.entries[-1], EvidenceStore.beside(made.workspace.ledger_file))
    assert verify_export(export, made.registry, source, view, AcceptedGrids.of(made.workspace)).exit_code == 0
    # what a page shows is what is computed again
    assert confirmed_assessment(made.workspace, source, default_grid()).document["cutoff"]["equal"]["total"] == 1


def test_the_recipe_spells_the_cut_off_where_the_trainer_means_the_same(approved: tuple[Desk, Round], tmp_path: Path) -> None:
    done = signed_export(*approved, tmp_path / "d")
    recipe = json.loads((done.folder / "training-recipe.json").read_text("utf-8"))
    words = "the first 1,024 tokens of prompt and answer together"
    assert recipe["cutoff"] == {"length": 1024, "counts": "sequence_tokens", "keeps": "start", "text": words}
    settings = {name: entry["settings"] for name, entry in recipe["trainers"].items()}
    assert settings["trl"] == {
        "beta": 0.1, "loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 1.0], "max_length": 1024, "truncation_mode": "keep_start"}
    assert (settings["ms-swift"]["max_length"], settings["ms-swift"]["truncation_strategy"]) == (1024, "right")
    names = {"openrlhf": "data.max_len", "openrlhf-older": "max_len", "llamafactory": "cutoff_len",
             "axolotl": "sequence_len", "axolotl-older": "sequence_len"}
    assert {name: settings[name][setting] for name, setting in names.items()} == dict.fromkeys(names, 1024)
    assert settings["openai"] == {"method": {"type": "dpo", "dpo": {"hyperparameters": {"beta": 0.1}}}}
    assert set(settings) == set(TRAINERS)
    text = (done.folder / "training-recipe.md").read_text("utf-8")
    assert f"The round declares that training keeps {words}:" in text
    assert "`max_length=1024`, `truncation_mode='keep_start'`" in text and "- axolotl: pairs that are longer are left out, not cut" in text


TRAINERS = ("trl", "trl-older", "ms-swift", "openrlhf", "openrlhf-older", "llamafactory", "axolotl", "axolotl-older", "openai")


@pytest.mark.parametrize("trainer", TRAINERS)
@pytest.mark.parametrize("counts", ["completion_tokens", "completion_characters"])
def test_no_trainer_gets_a_number_that_means_something_else(trainer: str, counts: str) -> None:
    """Only TRL before 0.29 cuts the answer alone."""
    found = spelled(trainer, CutOff(300, counts))
    expected = {"max_completion_length": 300, "max_length": None} if (trainer, counts) == ("trl-older", "completion_tokens") else {}
    assert found.settings == expected
    assert "300" not in found.comment or "the first 300" in found.comment


@pytest.mark.parametrize(("trainer", "settings"), [
    ("trl", {"max_length": 300, "truncation_mode": "keep_end"}), ("ms-swift", {"max_length": 300, "truncation_strategy": "left"}),
    ("openrlhf", {}), ("openrlhf-older", {}), ("llamafactory", {}), ("axolotl", {}), ("axolotl-older", {}), ("openai", {}),
    ("trl-older", {"max_length": 300, "truncation_mode": "keep_end", "max_prompt_length": None}),
])
def test_keeping_the_end_is_said_only_to_trainers_that_can(trainer: str, settings: dict[str, Any]) -> None:
    assert spelled(trainer, CutOff(300, "sequence_tokens", "end")).settings == settings


def test_a_recipe_without_a_declaration_says_nothing_of_a_cut_off(tmp_path: Path) -> None:
    done = signed_export(*approved_round(tmp_path / "plain", [LATE]), tmp_path / "d")
    for name in ("training-recipe.json", "training-recipe.md"):
        text = (done.folder / name).read_text("utf-8")
        assert "cutoff" not in text and "max_length" not in text and "cut" not in text.replace("execut", "")


def test_characters_of_chat_answers_are_those_of_their_contents(tmp_path: Path) -> None:
    """Contents of 12 and 11 characters that share 8 ("The Danu"); the flattened text would add a role and two line feeds."""
    say = [{"role": "user", "content": "Name a river."}]
    rows = [pair(prompt=say, chosen=[{"role": "assistant", "content": "The Danube ."}], rejected=[{"role": "assistant", "content": "The Danuvia"}])]
    for length, equal, chosen, rejected in ((8, 1, 1, 1), (9, 0, 1, 1), (11, 0, 1, 0), (12, 0, 0, 0)):
        about = {"training_cutoff": {"length": length, "counts": "completion_characters"}}
        _, assessment = whole(tmp_path / str(length), rows, **about)
        cut = assessment.document["cutoff"]
        assert (cut["equal"]["exact"], cut["chosen_cut"], cut["rejected_cut"]) == (equal, chosen, rejected)


def test_the_replaced_manifest_keeps_its_other_members(tmp_path: Path) -> None:
    source, _ = ingested(tmp_path, folder_of(tmp_path / "input", {"pairs": ROWS}), cutoff=CutOff(5, "completion_characters"))
    assert replace(source.manifest, cutoff=None) == replace(
        ingested(tmp_path, folder_of(tmp_path / "again", {"pairs": ROWS}))[0].manifest, created_at=source.manifest.created_at)
    assert isinstance(source.narrow(), pa.Table)
