"""From an approved round to a dataset that a trainer loads, with a card that says who approved it.

1.  ``provenance``   the decision that stands behind the pairs, verified and recomputed; or none, said plainly (*unsigned*)
2.  ``pairs``        the admitted pairs of the round, in the order of the signed list
3.  ``turns``        where the prompt ends and the answers begin: as reviewed, or as a trainer of single turns wants it
4.  ``shapes``       one trainer's rows: TRL, OpenRLHF, LLaMA-Factory, ms-swift, axolotl, OpenAI
5.  ``columns``      what the rows turned out to hold: types for Parquet, the card and Croissant
6.  ``card``, ``croissant``, ``recipe``, ``preregistration``   what lies beside the data
7.  ``dataset``      all of it in one folder, which appears whole or not at all

A pair is never changed and never left out: a shape that cannot say a pair refuses the export and names the pair.
"""
