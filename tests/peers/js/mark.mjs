// Tells the recording proxies the case of the next exchange, and sends plain requests no SDK client
// would send.

export const ports = JSON.parse(process.env.PEER_PORTS);

/** Sets the case of the following exchanges; without arguments they are not recorded. */
export async function mark(binding, operation, name, client = 'sdk') {
  const value = binding ? { binding, operation, case: name, client } : null;
  await fetch(`http://127.0.0.1:${ports.control}/mark`, { method: 'POST', body: JSON.stringify(value) });
}

export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function readToEnd(call) {
  const value = await call;
  if (!value?.[Symbol.asyncIterator]) return value;
  const items = [];
  for await (const item of value) items.push(item);
  return items;
}

/** Runs the cases of one binding, and prints unexpected errors of the client to stderr. */
export class Cases {
  constructor(binding) {
    this.binding = binding;
    this.main = binding === 'jsonrpc'; // other bindings skip cases that do not differ
  }

  /** Records one call; a stream is read to its end. */
  async run(operation, name, call, expectError = false) {
    await mark(this.binding, operation, name);
    let failure, result;
    try {
      result = await readToEnd(call());
    } catch (caught) {
      failure = caught;
    }
    await mark();
    if (failure && !expectError) console.error(`${this.binding} ${operation}-${name}: ${failure}`.slice(0, 250));
    return result;
  }

  fail(operation, name, call) {
    return this.run(operation, name, call, true);
  }

  /** Runs one call without recording it. */
  async unrecorded(call) {
    await mark();
    return readToEnd(call());
  }

  /** Reads a stream to its end and ignores errors of the client: only the exchange is recorded. */
  drain(call) {
    return readToEnd(call()).catch(() => {});
  }

  /** Returns a webhook URL. Deliveries are the same in every binding, so only those of one are recorded. */
  hook(name) {
    return `http://127.0.0.1:${ports.hook}/${this.main ? 'hook' : 'quiet'}/${name}`;
  }

  async raw(operation, name, method, path, { headers = {}, body, server = 'http' } = {}) {
    await mark(this.binding, operation, name, 'raw');
    const type = method === 'GET' ? {} : { 'content-type': 'application/json' };
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`http://127.0.0.1:${ports[server]}${path}`, {
      method, headers: { ...type, ...headers }, body: text,
    });
    await response.text();
    await mark();
  }

  rpc(operation, name, body, options = {}) {
    return this.raw(operation, name, 'POST', '/', { ...options, body });
  }
}
