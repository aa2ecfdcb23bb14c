"""Signs an agent card with the Python SDK.

Usage: python sign_card.py < request.json > signed.json

Reads one JSON object from stdin, or a list of them:

    card    the card, in any version that the SDK reads
    key     the private key, as PKCS#8 PEM
    alg     the algorithm: "ES256", "RS256" or "EdDSA"
    kid     the key id
    jku     optional: URL of the public key
    header  optional: members of the unprotected header

Writes the signed card to stdout, or a list of them, as the SDK's server publishes it: with the members of 0.3 in
addition to those of 1.0 if the card has an interface of 0.3.

Needs: pip install 'a2a-sdk[signing]==1.3.0' cryptography
"""

import json
import sys

from a2a.client.card_resolver import parse_agent_card
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.utils.signing import create_agent_card_signer


def sign(request: dict) -> dict:
    protected = {'alg': request['alg'], 'kid': request['kid'], 'typ': 'JOSE'}
    if 'jku' in request:
        protected['jku'] = request['jku']
    signer = create_agent_card_signer(
        request['key'], protected, request.get('header')
    )
    return agent_card_to_dict(signer(parse_agent_card(request['card'])))


def main() -> None:
    requests = json.load(sys.stdin)
    result = [sign(each) for each in requests] if isinstance(requests, list) else sign(requests)
    json.dump(result, sys.stdout)


if __name__ == '__main__':
    main()
