"""The cards of peers, with the ports at which callers find them."""

import json
import os
from pathlib import Path

CARDS = Path(__file__).parent.parent / 'cards'
# What cards say in recordings.
USUAL = {'http': 19999, 'grpc': 19998}


def read(name: str, kind: str) -> dict:
    """A card. PEER_SHOWN, if it is set, names the ports to show in place of the usual ones."""
    text = (CARDS / name).read_text(encoding='utf-8')
    shown = json.loads(os.environ.get('PEER_SHOWN', '{}'))
    prefix = '' if kind == 'full' else f'{kind}_'
    for binding, port in USUAL.items():
        text = text.replace(f'127.0.0.1:{port}', f'127.0.0.1:{shown.get(prefix + binding, port)}')
    return json.loads(text)
