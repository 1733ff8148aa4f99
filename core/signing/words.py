"""A statement in plain sentences: what a reviewer reads beside the exact bytes before signing them."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from core.gates.strength_words import strength_sentences
from core.grid import Grid, default_grid, parse_decimal, shipped_grids
from core.settings import SETTINGS
from core.signing.ledger import LedgerEntry
from core.signing.statement import Statement
from core.statistics.probability import Probability
from core.statistics.ratio import decimal_text, percent_text
from core.text import count_of, first_of, visible_line


def _model(predicate: Mapping[str, Any], which: str) -> str:
    digest = predicate[f"{which}_digest"]
    return f"{predicate[f'{which}_name']} ({f'SHA-256 {digest}' if digest else 'digest not stated'})"


def _decision(predicate: Mapping[str, Any]) -> list[str]:
    table = predicate["reason_table"]
    counts = " + ".join(f"{table[name]} {name}" for name in ("admitted", "rejected", "held", "quarantined"))
    lines = [f"You, {predicate['reviewer']}, {predicate['decision']} round {predicate['round_id']}, proposed by {', '.join(predicate['proposers'])}."]
    if predicate["decision"] == "approve":
        lines += [
            f"The {table['admitted']} admitted pairs may train the next generation.",
            f"The candidate {_model(predicate, 'candidate')} replaces the baseline {_model(predicate, 'baseline')}.",
            "One signature approves both, and neither alone.",
        ]
    else:
        lines.append("Neither may its pairs train the next generation, nor may its candidate replace the baseline.")
    lines.append(f"Pairs: {table['in']} in = {counts}.")
    if predicate["refusal"] is not None:
        reasons = "; ".join(f"{item['code']} ({item['detail']})" for item in predicate["refusal"]["reasons"])
        lines.append(f"The engine gives no receipt: {reasons}.")
    else:
        lines.append(f"The engine {'would promote' if predicate['receipt']['promote_round'] else 'refuses'} the round.")
    witness = predicate["holdout_witness"]
    lines.append(
        "The holdout was stated by the proposer only." if witness is None
        else f"The holdout was witnessed: ledger entry {witness['index']}, before this proposal."
    )
    lines += evidence_sentences(predicate)
    if predicate["comment"]:
        lines.append(f"Comment: {predicate['comment']}")
    return lines


def evidence_sentences(predicate: Mapping[str, Any]) -> list[str]:
    """What a decision says about the strength of its evidence, about earlier looks at the holdout, about the reviewer's sample
    and the pairs they dispute. A decision of version 1 says nothing of these."""
    coverage = predicate["coverage"]
    exposure, sampling, opened, disputes = (coverage.get(name) for name in ("exposure", "sampling", "opened", "disputes"))
    return [
        *strength_sentences(predicate["strength"]), *(() if exposure is None else exposure_sentences(predicate["strength"], exposure)),
        *(() if sampling is None else (sampling_sentence(sampling),)), *(() if opened is None else (opened_sentence(opened),)),
        *(() if disputes is None else (disputes_sentence(disputes),)),
        *(f"Judge {one['judge_id']} since round {one['round_id']}: {' '.join(one['sentences'])}" for one in coverage.get("drift", ())),
    ]


def exposure_sentences(strength: Mapping[str, Any], exposure: Mapping[str, Any]) -> list[str]:
    """Earlier looks at the holdout, and whether this round's result stays within what its look may use of the error budget."""
    lines, budget, tested = list(exposure["sentences"]), exposure["budget"], (strength["holdout"] or {}).get("tested")
    if budget is None or tested is None or budget["exhausted"] or exposure["look"] == 1:
        return lines
    share, p = Fraction(repr(budget["now"])), Probability(tested["p"]["value"], None)
    within = "within" if Fraction(repr(tested["p"]["value"])) <= share else "not within"
    return [*lines, f"The gain's {tested['test']} {p.text(share)} is {within} the {decimal_text(share)} that this look may use."]


def opened_sentence(opened: Mapping[str, Any]) -> str:
    """Which pages of evidence stood on the reviewer's screen before the statement was prepared."""
    left = opened["not_opened"]
    rest = f"; not opened: {', '.join(left)}" if left else ", which is every page of evidence"
    return f"Before preparing this, the reviewer had opened {', '.join(opened['pages']) or 'no page of evidence'}{rest}."


def disputes_sentence(disputes: Mapping[str, Any]) -> str:
    """Which pairs the reviewer disputes, where the engine had them, and how many they had marked as seen."""
    count, named = disputes["count"], disputes["pairs"][:SETTINGS["display"]["named_ids"]]
    seen = f"{count_of(disputes['seen'], 'pair') if disputes['seen'] else 'no pair'} marked as seen"
    if not count:
        return f"The reviewer disputes no pair; {seen}."
    said = first_of([f"{pair['pair_id']} ({pair['state'] or 'not in the round'})" for pair in named], len(named), total=count)
    return f"The reviewer disputes {count_of(count, 'pair')}: {said}; {seen}."


def sampling_sentence(sampling: Mapping[str, Any]) -> str:
    """What the reviewer judged of the admitted pairs, and what that proves."""
    if sampling["bound"] is None:
        return f"The reviewer judged no sample of the {sampling['population']:,} admitted pairs."
    defects, bound = sampling["defects"], sampling["bound"]["numerator"]
    ended = {"complete": "", "open": ", not finished", "ended_early": ", ended early"}[sampling["state"]]
    return (
        f"The reviewer judged {sampling['judged']:,} of the {sampling['population']:,} admitted pairs blind{ended}: "
        f"{count_of(defects, 'defect')}, so at most {bound:,} of them are defects with {percent_text(parse_decimal(sampling['confidence']))} "
        f"confidence. Reviewer and engine disagree on {count_of(sampling['disagreements']['count'], 'pair')}; kappa of reviewer and verifier "
        f"{_kappa(sampling['kappa'])}."
    )


def _kappa(kappa: Mapping[str, Any]) -> str:
    if kappa["undefined"] is not None:
        return f"undefined ({kappa['undefined']})"
    return decimal_text(Fraction(int(kappa["numerator"]), int(kappa["denominator"])))


def sentences(statement: Statement) -> tuple[str, ...]:
    """What a statement says, one sentence a line: a name or a comment with a line feed in it makes no sentence of its own. The
    text may hold untrusted names and comments: show it as text only."""
    predicate = statement.predicate
    if statement.kind == "registration":
        lines = [f"You, {predicate['registered_by']}, register a holdout of {predicate['items']} items, SHA-256 {predicate['holdout_sha256']}."]
    elif statement.kind == "proposal":
        lines = [
            f"You, {predicate['proposer']}, propose round {predicate['round_id']} (SHA-256 {predicate['round_digest']}) "
            f"for {', '.join(predicate['proposers'])} under grid {predicate['grid_digest']}.",
        ]
    else:
        lines = _decision(predicate)
    seen = predicate["ledger"]
    lines.append(f"It must be appended by {predicate['expiresAt']}, to the ledger {seen['origin']}, which had {seen['size']} entries.")
    return tuple(map(visible_line, lines))


def warnings(statement: Statement, earlier: Iterable[LedgerEntry]) -> tuple[str, ...]:
    """What a reviewer should know before deciding. ``earlier``: decisions on the same round id, candidate or pairs."""
    predicate, lines = statement.predicate, []
    if statement.kind == "decision" and predicate["decision"] == "approve" and predicate["candidate_digest"] is None:
        lines.append(f"The approval names a model, {predicate['candidate_name']}, without identifying its bytes: the round states no digest of it.")
    budget = (predicate.get("coverage", {}).get("exposure") or {}).get("budget")
    if budget is not None and budget["exhausted"]:
        lines.append(f"This is look {budget['look']:,} at the holdout: the error budget of the {budget['planned']:,} planned looks is spent.")
    lines += [earlier_words(entry) for entry in earlier]
    return tuple(map(visible_line, lines))


def grid_warning(grid: Grid) -> tuple[str, ...]:
    """Which keys of a grid that does not ship with the engine differ from the default grid; nothing for a shipped one."""
    if grid.digest in shipped_grids():
        return ()
    changed = "; ".join(f"{key} {here} (default {there})" for key, here, there in grid.differences(default_grid()))
    said = changed or "its values are the default grid's"
    return (visible_line(f"The grid {grid.name}, version {grid.version}, is not one that ships with the engine: {said}."),)


def earlier_words(entry: LedgerEntry) -> str:
    """*rejected before by ben@example.org: too few items (entry 4)*"""
    predicate = entry.statement.predicate
    verb = "approved" if entry.statement.approves else "rejected"
    comment = f": {predicate['comment']}" if predicate["comment"] else ""
    return f"{verb} before by {predicate['reviewer']}{comment} (round {predicate['round_id']}, entry {entry.index})"
