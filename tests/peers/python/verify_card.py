"""Verifies the signatures of an agent card with the Python SDK.

Usage: python verify_card.py < request.json > result.json

Reads one JSON object from stdin, or a list of them:

    card        the published card
    keys        public keys as PEM, by key id
    algorithms  optional: the accepted algorithms; ES256, RS256 and EdDSA by default

Writes {"verified": true} or {"verified": false, "error": "..."} to stdout, or a list of them. The exit code is 0
either way.

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
            raise PyJWTError(f'unknown key {kid!r}')
        return keys[kid]

    algorithms = request.get('algorithms', ['ES256', 'RS256', 'EdDSA'])
    verifier = create_signature_verifier(find, algorithms)
    try:
        verifier(parse_agent_card(request['card']))
        return {'verified': True}
    except SignatureVerificationError as error:
        return {'verified': False, 'error': str(error)}


def main() -> None:
    requests = json.load(sys.stdin)
    result = [verify(each) for each in requests] if isinstance(requests, list) else verify(requests)
    json.dump(result, sys.stdout)


if __name__ == '__main__':
    main()
