// A receiver of webhooks.

import { createServer } from 'node:http';
import { on, once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Calls `use` with the address of a webhook and what is posted there, for as long as that takes. */
export async function receiving(use) {
  const server = createServer(async (request, response) => {
    server.emit('delivery', { headers: request.headers, body: await text(request) });
    response.writeHead(204).end();
  });
  const deliveries = on(server, 'delivery');
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    return await use(`http://127.0.0.1:${server.address().port}/hook?of=this`, deliveries);
  } finally {
    deliveries.return();
    server.close();
    server.closeAllConnections();
  }
}
