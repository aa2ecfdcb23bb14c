"""Verifies the signatures of an agent card with the Python SDK.

Usage: python verify_card.py < request.json > answer.json

Reads one JSON object from stdin, or a list of them:

    card        the card as it was published
    keys        public keys as PEM, by kid
    algorithms  optional: the algorithms that count; ES256, RS256 and EdDSA by default

Writes {"verified": true}, or {"verified": false, "error": "..."}, to stdout, or the list of them.
The exit code is 0 either way: a card that does not verify is an answer.

Needs: pip install 'a2a-sdk[signing]==1.3.0' cryptography
"""

import json
import sys

from jwt.exceptions import PyJWTError

from a2a.client.card_resolver import parse_agent_card
from a2a.utils.signing import (
    SignatureVerificationError,
    create_signature_verifier,
)


def verify(request: dict) -> dict:
    keys = request['keys']

    def find(kid: str | None, jku: str | None) -> str:
        if kid not in keys:
            raise PyJWTError(f'the key {kid!r} is not known')
        return keys[kid]

    algorithms = request.get('algorithms', ['ES256', 'RS256', 'EdDSA'])
    verifier = create_signature_verifier(find, algorithms)
    try:
        verifier(parse_agent_card(request['card']))
        return {'verified': True}
    except SignatureVerificationError as error:
        return {'verified': False, 'error': str(error)}


def main() -> None:
    asked = json.load(sys.stdin)
    answer = [verify(it) for it in asked] if isinstance(asked, list) else verify(asked)
    json.dump(answer, sys.stdout)


if __name__ == '__main__':
    main()
