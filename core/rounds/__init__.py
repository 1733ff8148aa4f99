"""Rounds: from a proposer's files to an immutable folder, and back out of it.

``ingest`` reads a source (``readers``: bundle, folder of tables, one module a format) into typed batches (``columns`` says
what a column may hold; ``typing_rows`` and ``typing_arrow`` apply it; ``messages`` flattens chats), writes them
(``writers``, ``repeats``) and publishes the folder (``workspace``). ``folder.Round`` is how everything else reads it;
``manifest`` is its round.json; ``notes`` and ``inspection`` say what deserves a second look; ``queries`` answers the pages.
"""
