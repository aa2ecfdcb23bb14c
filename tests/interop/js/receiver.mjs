// Webhook receiver.

import { createServer } from 'node:http';
import { on, once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Runs a receiver while `use` runs with its URL and an iterator of deliveries. */
export async function withReceiver(use) {
  const server = createServer(async (request, response) => {
    server.emit('delivery', { headers: request.headers, body: await text(request) });
    response.writeHead(204).end();
  });
  const deliveries = on(server, 'delivery');
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    return await use(`http://127.0.0.1:${server.address().port}/hook?id=1`, deliveries);
  } finally {
    deliveries.return();
    server.close();
    server.closeAllConnections();
  }
}
