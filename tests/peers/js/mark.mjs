// Tells the recording hops what the next exchange is, and sends plain requests no SDK client would send.

export const ports = JSON.parse(process.env.PEER_PORTS);

/** Names the exchanges that start from now on; without arguments they are not recorded. */
export async function mark(binding, operation, name, client = 'sdk') {
  const value = binding ? { binding, operation, case: name, client } : null;
  await fetch(`http://127.0.0.1:${ports.control}/mark`, { method: 'POST', body: JSON.stringify(value) });
}

export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function finish(call) {
  const value = await call;
  if (!value?.[Symbol.asyncIterator]) return value;
  const items = [];
  for await (const item of value) items.push(item);
  return items;
}

/** The cases of one binding; says on stderr which of them the client did not survive as foreseen. */
export class Cases {
  constructor(binding) {
    this.binding = binding;
    this.main = binding === 'jsonrpc'; // the others leave out what would only repeat it
  }

  /** Runs one marked call; a stream is read to its end. */
  async run(operation, name, call, wantError = false) {
    await mark(this.binding, operation, name);
    let failure, result;
    try {
      result = await finish(call());
    } catch (caught) {
      failure = caught;
    }
    await mark();
    if (failure && !wantError) console.error(`${this.binding} ${operation}-${name}: ${failure}`.slice(0, 250));
    return result;
  }

  fail(operation, name, call) {
    return this.run(operation, name, call, true);
  }

  /** Runs one call without recording it. */
  async quiet(call) {
    await mark();
    return finish(call());
  }

  /** Reads a stream to its end; what the client thinks of it does not matter here. */
  drain(call) {
    return finish(call()).catch(() => {});
  }

  /** An address for push deliveries. They are the same in every binding, so only one keeps them. */
  hook(name) {
    return `http://127.0.0.1:${ports.hook}/${this.main ? 'hook' : 'quiet'}/${name}`;
  }

  async raw(operation, name, method, path, { headers = {}, body, server = 'http' } = {}) {
    await mark(this.binding, operation, name, 'raw');
    const type = method === 'GET' ? {} : { 'content-type': 'application/json' };
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`http://127.0.0.1:${ports[server]}${path}`, {
      method, headers: { ...type, ...headers }, body: text,
    });
    await answer.text();
    await mark();
  }

  rpc(operation, name, body, options = {}) {
    return this.raw(operation, name, 'POST', '/', { ...options, body });
  }
}
