"""Google's IFEval result files: ``eval_results_strict.jsonl`` and ``eval_results_loose.jsonl``, one row a prompt.

The rows carry no id, so the proposer says what the id is (option ``id``); ``sha256:prompt`` is the one that two files cannot disagree on.
``follow_all_instructions`` is the verdict at prompt level. Structure: instruction_following_eval of google-research/google-research.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from core.errors import RoundError, Where
from core.rounds.columns import CellFault
from core.rounds.readers.containers import raw_rows
from core.rounds.readers.format import Declared, Format, Option
from core.rounds.readers.outcome_rows import OPTIONS, PART, Outcomes, digest_of, mapped
from core.rounds.readers.places import DIGEST, IdPlace, placed
from core.rounds.readers.verdicts import VerdictRule
from core.rounds.strict import described
from core.rounds.typing_rows import RawRow

NAME: Final = "ifeval"
_VERDICT: Final = "follow_all_instructions"
_LIST: Final = "follow_instruction_list"
_KEYS: Final = (_VERDICT, _LIST, "instruction_id_list", "prompt", "response")
_PROMPT_DIGEST: Final = f"{DIGEST}prompt"


class _Results:
    """Reads the rows of one result file."""

    def __init__(self, declared: Declared) -> None:
        self._file, self._read = declared.file, 0
        self._by_prompt = declared.options["id"] == _PROMPT_DIGEST
        self.outcomes = Outcomes(declared, IdPlace(declared.options["id"], NAME), VerdictRule(declared, _VERDICT))

    def finish(self) -> None:
        """Check the file as a whole and add its notes."""
        if not self._read:
            raise RoundError("no_rows", expected="at least one row", got="none", remedy="hand over the whole file", where=Where(self._file))
        self.outcomes.finish()

    def outcome(self, row: dict[str, Any]) -> dict[str, Any]:
        """One row as an outcome. Raises CellFault."""
        self._read += 1
        verdict, each = placed(row, _VERDICT), placed(row, _LIST)
        if not isinstance(verdict, bool):
            raise CellFault(_VERDICT, "wrong_type", "true or false", described(verdict))
        if not isinstance(each, list) or not all(isinstance(one, bool) for one in each) or all(each) is not verdict:
            raise CellFault(_LIST, "verdict_conflict", f"flags that say together what {_VERDICT} says ({described(verdict)})", described(each))
        asked_for = row.get("instruction_id_list", each)
        if not each or not isinstance(asked_for, list) or len(asked_for) != len(each):
            raise CellFault(_LIST, "verdict_conflict", "one flag for each instruction, and at least one", f"{len(each)} of {described(asked_for)}")
        # an id that is the digest of the prompt says by itself what was asked
        asked = {} if self._by_prompt else digest_of("prompt_hash", row.get("prompt"))
        return self.outcomes.outcome(row, verdict, response=row.get("response"), extra=asked)


def rows(declared: Declared) -> Iterator[RawRow]:
    """The outcomes of a result file."""
    results = _Results(declared)
    return mapped(raw_rows(declared.path, declared.file, declared.notes), results.outcome, results.finish)


def recognise(first_rows: Sequence[Any], path: Path) -> str | None:
    """Rows with a verdict over all instructions and one for each are IFEval's."""
    if first_rows and all(isinstance(row, dict) and all(key in row for key in _KEYS) for row in first_rows):
        return f"its rows have the keys {', '.join(_KEYS)}"
    return None


FORMAT: Final = Format(
    NAME, PART, "IFEval: eval_results_strict.jsonl and eval_results_loose.jsonl", rows, recognise,
    {
        **{name: option for name, option in OPTIONS.items() if name not in ("pass", "fail")},
        "id": Option(f"the id of an item: {_PROMPT_DIGEST}, the SHA-256 of its prompt, or where a row names it, as key", required=True),
    },
)
