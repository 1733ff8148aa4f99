"""croissant.json: the dataset in MLCommons Croissant 1.1 (JSON-LD), one file object a data file and one record set over the main one."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from core.export.beside import LINES_FILE, PARQUET_FILE, DataFile, Facts
from core.export.columns import FLAG, INTEGER, REAL, Kind, ListOf, Record, holds_json
from core.export.provenance import UNSIGNED
from core.export.safe_text import one_line

CONFORMS_TO: Final = "http://mlcommons.org/croissant/1.1"
_CONTEXT: Final[Mapping[str, Any]] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/", "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/", "dct": "http://purl.org/dc/terms/",
    **{name: f"cr:{name}" for name in (
        "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format",
        "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated",
        "replace", "samplingRate", "separator", "source", "subField", "transform",
    )},
    "conformsTo": "dct:conformsTo", "data": {"@id": "cr:data", "@type": "@json"}, "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "description": {"@container": "@language"}, "name": {"@container": "@language"},
}
"""The context of the specification, 1.1."""
_TYPES: Final = {FLAG: "sc:Boolean", INTEGER: "sc:Integer", REAL: "sc:Float"}
_RECORDS: Final = "pairs"


def croissant(facts: Facts) -> dict[str, Any]:
    """The document."""
    provenance, wanted = facts.provenance, facts.wanted
    manifest = provenance.source.manifest
    document: dict[str, Any] = {
        "@context": dict(_CONTEXT), "@type": "sc:Dataset", "conformsTo": CONFORMS_TO, "name": one_line(facts.title),
        "description": _description(facts), "version": "1.0.0",
        "datePublished": provenance.approvals[-1].issued_at if provenance.approvals else manifest.created_at,
        "creator": [{"@type": "sc:Person", "name": one_line(name)} for name in manifest.proposers],
        "identifier": f"urn:sha256:{provenance.source.digest}",
        "license": wanted.license,  # "unknown" where nobody stated one
        "keywords": ["dpo", "preference", wanted.shape.trainer.lower(), *([] if provenance.signed else ["unsigned"])],
    }
    if wanted.languages:
        document["inLanguage"] = list(wanted.languages)
    return document | {
        "distribution": [_file(file) for file in facts.files],
        "recordSet": [{
            "@type": "cr:RecordSet", "@id": _RECORDS, "name": _RECORDS, "description": _about_records(facts),
            "field": [_field(name, kind, facts.main_file.name) for name, kind in facts.kinds.items() if name not in _untyped(facts)],
        }],
    }


def _description(facts: Facts) -> str:
    provenance = facts.provenance
    decision = provenance.decision
    standing = UNSIGNED if decision is None else f"Approved; receipt SHA-256 {decision['receipt_sha256']}."
    return f"{facts.rows} preference pairs of a reviewed round. {standing} Round SHA-256 {provenance.source.digest}."


def _untyped(facts: Facts) -> list[str]:
    """Columns of a JSON Lines file that hold JSON objects: Croissant has no type for those. In Parquet they are text."""
    return [name for name, kind in facts.kinds.items() if holds_json(kind)] if facts.main_file.name == LINES_FILE else []


def _about_records(facts: Facts) -> str:
    untyped = _untyped(facts)
    left = f" Columns of JSON objects are in the file and have no field here: {', '.join(untyped)}." if untyped else ""
    numbers = facts.seen.numbers(facts.kinds) if facts.main_file.name == LINES_FILE else []
    guessed = f" Every text in {', '.join(numbers)} reads as a number: a reader that guesses types changes it." if numbers else ""
    return f"One row a preference pair, for {facts.wanted.shape.trainer}.{left}{guessed}"


def _file(file: DataFile) -> dict[str, Any]:
    kind = "application/x-parquet" if file.name == PARQUET_FILE else "application/jsonlines"
    return {
        "@type": "cr:FileObject", "@id": file.name, "name": file.name, "contentUrl": file.name, "contentSize": f"{file.size} B",
        "encodingFormat": kind, "sha256": file.sha256,
    }


def _field(name: str, kind: Kind, file: str) -> dict[str, Any]:
    field: dict[str, Any] = {"@type": "cr:Field", "@id": f"{_RECORDS}/{name}", "name": name, "description": _words(kind)}
    if isinstance(kind, ListOf):
        field |= {"isArray": True, "arrayShape": "-1"}
    inner = kind.item if isinstance(kind, ListOf) else kind
    source = {"fileObject": {"@id": file}, "extract": {"column": name}}
    if not isinstance(inner, Record):
        return field | {"dataType": _TYPES.get(str(inner), "sc:Text"), "source": source}
    path = "[*]" if isinstance(kind, ListOf) else "$"
    return field | {"subField": [
        {
            "@type": "cr:Field", "@id": f"{_RECORDS}/{name}/{member}", "name": member, "description": "text, or null", "dataType": "sc:Text",
            "source": source | {"transform": {"jsonPath": f"{path}.{member}"}},
        }
        for member in inner.names
    ]}


def _words(kind: Kind) -> str:
    if isinstance(kind, ListOf):
        return f"list of {_words(kind.item)}"
    if isinstance(kind, Record):
        return f"objects with {', '.join(kind.names)}"
    return "JSON document" if kind == "json" else str(kind)
