#!/bin/sh
# Checks the signature of a Countersign receipt with OpenSSL 3 and nothing else: none of our code runs.
#
#   sh verify.sh decision.json ana.pub
#
# decision.json   an envelope: decision.json or proposal.json of an export, or one line of the ledger
# ana.pub         a line "ssh-ed25519 AAAA..." from YOUR OWN records, never from whoever sent the receipt
#
# It says "signature only": whose key it is, who may review whom, revocation, the ledger, the files and the decision
# itself are checked by "countersign verify", and a weak key (a point of small order) is refused there only. So it never exits 0: 3 the signature holds, 4 not a receipt, 5 it does not hold.
set -u
LC_ALL=C
export LC_ALL

fail() { printf '%s\n' "$2" >&2; exit "$1"; }
[ "$#" -eq 2 ] || fail 2 "usage: sh verify.sh ENVELOPE PUBLIC-KEY"
work=$(mktemp -d) || fail 1 "no temporary folder"
trap 'rm -rf "$work"' EXIT

# the envelope has one spelling, so one pattern for the whole of it is a strict reader
cat < "$1" > "$work/line" || fail 4 "cannot read $1"
[ "$(wc -l < "$work/line")" -le 1 ] || fail 4 "not a receipt: more than one line"
b64='[A-Za-z0-9+/]*=\{0,2\}'
pattern='^{"payload":"\('"$b64"'\)","payloadType":"application/vnd\.in-toto+json","signatures":\[{"keyid":"\(SHA256:[A-Za-z0-9+/]*\)","sig":"\('"$b64"'\)"}\]}$'
grep -q "$pattern" "$work/line" || fail 4 "not a receipt: an envelope with exactly one signature was expected"
field() { sed "s|$pattern|\\$1|" "$work/line"; }
decode() { printf '%s' "$1" | openssl base64 -d -A; }
again() { openssl base64 -A < "$1"; }
payload=$(field 1) keyid=$(field 2) signature=$(field 3)
decode "$payload" > "$work/payload" && decode "$signature" > "$work/sig" || fail 4 "not a receipt: base64 was expected"
[ "$(again "$work/payload")" = "$payload" ] && [ "$(again "$work/sig")" = "$signature" ] || fail 4 "not a receipt: base64 in its canonical spelling was expected"

# the public key: 19 bytes of SSH framing, then the 32 bytes of the key
read -r kind key _ < "$2" || [ -n "${key:-}" ] || fail 4 "cannot read $2"
[ "$kind" = ssh-ed25519 ] || fail 4 "not an Ed25519 public key: $2"
decode "$key" > "$work/blob"
[ "$(wc -c < "$work/blob")" -eq 51 ] || fail 4 "not an Ed25519 public key: $2"
found=SHA256:$(openssl dgst -sha256 -binary < "$work/blob" | openssl base64 -A | tr -d =)
[ "$found" = "$keyid" ] || fail 5 "another key signed this: the receipt names $keyid, $2 is $found"
{ printf '\060\052\060\005\006\003\053\145\160\003\041\000'; tail -c 32 "$work/blob"; } > "$work/key.der"

# what is signed: DSSEv1 LEN(type) type LEN(payload) payload
{ printf 'DSSEv1 28 application/vnd.in-toto+json %d ' "$(wc -c < "$work/payload")"; cat "$work/payload"; } > "$work/pae"
openssl pkeyutl -verify -pubin -keyform DER -inkey "$work/key.der" -rawin -in "$work/pae" -sigfile "$work/sig" > "$work/said" 2>&1 \
  || fail 5 "BAD SIGNATURE: these bytes were not signed by $keyid"

printf 'SIGNATURE ONLY: made by %s over the statement with SHA-256 %s\n' "$keyid" "$(openssl dgst -sha256 -r < "$work/payload" | cut -d' ' -f1)"
printf 'Nothing else was checked. What the statement says (characters other than ASCII shown as ?):\n'
tr '\000-\037\177-\377' '?' < "$work/payload"
printf '\n'
exit 3
