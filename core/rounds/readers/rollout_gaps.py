"""Why a file of rollouts gives nothing to pair, and what to declare: for the refusal that takes the place of an empty result."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.note import named
from core.rounds.readers.containers import first_values
from core.rounds.readers.format import Declared
from core.rounds.readers.rollout_columns import CELLS_REMEDY, RANGE, SPELLINGS, has_text_cells

_KINDS: Final = {"number": "numbers", "flag": "true and false", "text": "text"}
_DECLARE: Final = "declare it with --option {field}=COLUMN"
_RESPONSES: Final = (*SPELLINGS["response"], *SPELLINGS["messages"])
_REMEDIES: Final[Mapping[str, str]] = {
    "boolean_reward": "declare the column as the reward with --option reward=COLUMN, so that true is 1 and false is 0",
    "invalid_reward": "write rewards as JSON numbers, or declare another column with --option reward=COLUMN",
    "reward_out_of_range": f"declare the range with --option range=LEAST..MOST ({RANGE} otherwise)",
    "grader_failed": "look at what the grader's status column says, or declare another one with --option status=COLUMN",
    "missing_reward": _DECLARE.format(field="reward"), "missing_response": _DECLARE.format(field="response"),
    "empty_response": "hand over rollouts whose replies say something, or declare another column with --option response=COLUMN",
}


def nothing_usable(declared: Declared, rows: int, unused: Mapping[str, int], texts: Mapping[str, str], policy: str | None) -> RoundError:
    """The refusal for a file none of whose ``rows`` can be paired. ``unused``: rows by reason; ``texts``: what a reason means."""
    where = Where(declared.file)
    if not rows:
        return RoundError("no_rows", expected="at least one rollout", got="a file without rows", remedy="name the file of rollouts", where=where)
    values = [value for value in first_values(declared.path, declared.file) if isinstance(value, dict)]
    if policy is not None and unused.get("other_policy") == rows:
        return _no_policy(declared, values, rows, policy)
    reasons = {reason: count for reason, count in unused.items() if count and reason != "other_policy"}
    for field, reason, spelled in (("reward", "missing_reward", SPELLINGS["reward"]), ("response", "missing_response", _RESPONSES)):
        stated = declared.options.get(field)
        if set(reasons) == {reason} and not any(name in value for value in values for name in ((stated,) if stated else spelled)):
            return RoundError(
                f"no_{field}_column", expected=f"a column of the {field} ({', '.join(spelled)}), or one declared",
                got=f"none of these; {_columns(values, field)}", remedy=_REMEDIES[reason], where=where,
            )
    most = max(sorted(reasons), key=lambda reason: reasons[reason])
    got = "; ".join(f"{count:,} with {texts.get(reason, reason)}" for reason, count in sorted(reasons.items()))
    return RoundError(
        "no_usable_rollout", expected="a rollout with a reward and a reply", got=f"none of {rows:,}: {got}; {_columns(values, 'reward')}",
        remedy=CELLS_REMEDY if most == "invalid_reward" and has_text_cells(declared) else _REMEDIES[most], where=where,
    )


def _no_policy(declared: Declared, values: list[dict[str, Any]], rows: int, policy: str) -> RoundError:
    columns = (declared.options["policy"],) if "policy" in declared.options else SPELLINGS["policy"]
    seen = sorted({value[name] for value in values for name in columns if isinstance(value.get(name), str)})
    said = f"the first rows are of {named(seen)}" if seen else f"no row names one ({', '.join(columns)})"
    return RoundError(
        "no_such_policy", expected=f"a rollout of the policy {policy!r}", got=f"none of {rows:,}; {said}",
        remedy="name one of the file's policies, or declare the column with --option policy=COLUMN", where=Where(declared.file),
    )


def _columns(values: list[dict[str, Any]], field: str) -> str:
    """The columns of the first rows that could be meant, by what they hold: those that are known to be something else are not among them."""
    kinds: dict[str, Counter[str]] = {}
    known = {name for other, names in SPELLINGS.items() if other != field for name in names}
    for value in values:
        for name, cell in ((name, cell) for name, cell in value.items() if name not in known):
            kinds.setdefault(name, Counter())[_kind(cell)] += 1
    wanted = ("text",) if field == "response" else ("number", "flag")
    found = []
    for kind in wanted:
        names = [name for name, seen in kinds.items() if seen[kind] and not any(seen[other] for other in _KINDS if other != kind)]
        found.append(f"columns of {_KINDS[kind]}: {named(names) or 'none'}")
    return ", ".join(found)


def _kind(cell: Any) -> str:
    if isinstance(cell, bool):
        return "flag"
    if isinstance(cell, (int, float)):
        return "number"
    return "text" if isinstance(cell, (str, list)) else "other"
