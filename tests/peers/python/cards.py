"""Agent cards of the peers, with the ports that callers use."""

import json
import os
from pathlib import Path

CARDS = Path(__file__).parent.parent / 'cards'
# Ports in the cards of recordings.
RECORDED_PORTS = {'http': 19999, 'grpc': 19998}


def read(name: str, kind: str) -> dict:
    """Reads a card. PEER_CARD_PORTS, if set, contains the ports to write instead of the recorded ones."""
    text = (CARDS / name).read_text(encoding='utf-8')
    ports = json.loads(os.environ.get('PEER_CARD_PORTS', '{}'))
    prefix = '' if kind == 'full' else f'{kind}_'
    for binding, port in RECORDED_PORTS.items():
        text = text.replace(f'127.0.0.1:{port}', f'127.0.0.1:{ports.get(prefix + binding, port)}')
    return json.loads(text)
