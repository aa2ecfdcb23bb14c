// The instructions of the `latimer demo-server` agent, for agents on any SDK.
//
// A step is { state, statusText }, { part, append, last } with a 1.0 part, or { pause } in
// milliseconds.

/** Returns the direct reply that an instruction requests, if any. */
export const reply = (instruction) => (instruction.startsWith('say ') ? instruction.slice(4) : undefined);

/** Yields the steps of an instruction. */
export function* steps(instruction) {
  const [name, argument] = split(instruction);
  const finalState = { reject: 'REJECTED', ask: 'INPUT_REQUIRED', auth: 'AUTH_REQUIRED' }[name];
  if (finalState) return yield { state: finalState, statusText: argument || 'log in first' };
  yield { state: 'WORKING' };
  if (name === 'fail') return yield { state: 'FAILED', statusText: argument };
  if (name === 'wait') {
    yield { pause: Number(argument) };
  } else if (name === 'burst') {
    for (let number = 1; number <= Number(argument); number += 1) {
      yield { state: 'WORKING', statusText: `${number} of ${argument}` };
    }
  } else if (name === 'chunks') {
    const [count, pause] = argument.split(' ').map(Number);
    for (let number = 1; number <= count; number += 1) {
      yield { part: { text: `chunk ${number} of ${count}\n` }, append: number > 1, last: number === count };
      yield { pause };
    }
  } else {
    yield { part: buildPart(name, argument, instruction), append: false, last: true };
  }
  yield { state: 'COMPLETED' };
}

/** Returns the part that an instruction requests. An unknown instruction is echoed. */
function buildPart(name, argument, instruction) {
  const [filename, size] = split(argument);
  switch (name) {
    case 'file':
      return { raw: Buffer.alloc(Number(size), 'x').toString('base64'), filename, mediaType: 'application/octet-stream' };
    case 'url': return { url: argument, mediaType: 'text/plain' };
    case 'data': return { data: JSON.parse(argument) };
    case 'echo': return { text: argument };
    default: return { text: instruction };
  }
}

function split(text) {
  const [first] = text.split(' ', 1);
  return [first, text.slice(first.length + 1)];
}

/** Converts a part to 0.3. */
export function toV03({ text, data, raw, url, filename, mediaType }) {
  if (text !== undefined) return { kind: 'text', text };
  if (data !== undefined) return { kind: 'data', data };
  const location = raw === undefined ? { uri: url } : { bytes: raw };
  return { kind: 'file', file: { ...location, name: filename, mimeType: mediaType } };
}
