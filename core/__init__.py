"""Countersign's engine. The tour, from a proposer's files to a line in the ledger:

1.  ``rounds.ingest``        files in, an immutable *round* out; bad pair rows quarantined, anything else bad refused
2.  ``gates.calibration``    RubricJudgeCalibrationGate: may this judge's synthetic pairs be used at all?
3.  ``gates.curation``       IterativeRpoPairCurator: which pairs may train the next generation? (formulas in ``pairs``)
4.  ``gates.promotion``      PreRegisteredFlywheelPromoter: may the candidate replace the baseline?
5.  ``gates.assessment``     every check but the reviewer, cached under (round, grid, code)
6.  ``gates.receipt``        assessment + reviewer = the receipt of 17 fields, or a refusal record
7.  ``signing.statement``    what is signed: an in-toto statement in RFC 8785 bytes, in a DSSE envelope
8.  ``signing.ledger``       the envelope appended to a hash-linked ledger; one decision a person, closed is closed
9.  ``signing.verify``       anybody, offline: signature, rules, digests, then the decision computed again
10. ``export.dataset``       the approved pairs as a dataset that a trainer loads, with a card that says who approved them

Numbers that steer a decision live in ``grid`` and nowhere else (``literals`` watches); constants that steer none in
``settings.json``. ``errors`` says who must act. Nothing here imports streamlit: clock, seed and signer are arguments.
"""
from core.version import ENGINE_VERSION

__version__ = ENGINE_VERSION
