// What the agent of `latimer demo-server` does about a message, for agents on any SDK.
//
// A step is { state, words }, { part, append, last } with a part as 1.0 has it, or { pause } in milliseconds.

/** What is answered without a task, if that is wanted. */
export const reply = (said) => (said.startsWith('say ') ? said.slice(4) : undefined);

export function* steps(said) {
  const [word, rest] = split(said);
  const last = { reject: 'REJECTED', ask: 'INPUT_REQUIRED', auth: 'AUTH_REQUIRED' }[word];
  if (last) return yield { state: last, words: rest || 'log in first' };
  yield { state: 'WORKING' };
  if (word === 'fail') return yield { state: 'FAILED', words: rest };
  if (word === 'wait') {
    yield { pause: Number(rest) };
  } else if (word === 'burst') {
    for (let number = 1; number <= Number(rest); number += 1) yield { state: 'WORKING', words: `${number} of ${rest}` };
  } else if (word === 'chunks') {
    const [count, pause] = rest.split(' ').map(Number);
    for (let number = 1; number <= count; number += 1) {
      yield { part: { text: `chunk ${number} of ${count}\n` }, append: number > 1, last: number === count };
      yield { pause };
    }
  } else {
    yield { part: made(word, rest, said), append: false, last: true };
  }
  yield { state: 'COMPLETED' };
}

/** The one part that a message asks for. What is no word is said again. */
function made(word, rest, said) {
  const [name, size] = split(rest);
  switch (word) {
    case 'file':
      return { raw: Buffer.alloc(Number(size), 'x').toString('base64'), filename: name, mediaType: 'application/octet-stream' };
    case 'url': return { url: rest, mediaType: 'text/plain' };
    case 'data': return { data: JSON.parse(rest) };
    case 'echo': return { text: rest };
    default: return { text: said };
  }
}

function split(text) {
  const [first] = text.split(' ', 1);
  return [first, text.slice(first.length + 1)];
}

/** A part as 0.3 has it. */
export function older({ text, data, raw, url, filename, mediaType }) {
  if (text !== undefined) return { kind: 'text', text };
  if (data !== undefined) return { kind: 'data', data };
  const where = raw === undefined ? { uri: url } : { bytes: raw };
  return { kind: 'file', file: { ...where, name: filename, mimeType: mediaType } };
}
