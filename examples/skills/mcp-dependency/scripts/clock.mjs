// A whole MCP server over stdio with one tool, without any package: what the dependency of this skill talks to.
import { createInterface } from 'node:readline';

const tool = {
  name: 'now',
  description: 'Tells the time in a time zone',
  inputSchema: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] },
};

/** Answers one request, or throws with the words for the error. */
function answer({ method, params }) {
  switch (method) {
    case 'initialize':
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'clock', version: '1' } };
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: [tool] };
    case 'tools/call':
      return { content: [{ type: 'text', text: new Date().toLocaleTimeString('en-GB', { timeZone: params.arguments.zone }) }] };
    default:
      throw new Error(`no method ${method}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.id === undefined) continue; // a notification
  let reply;
  try {
    reply = { result: answer(request) };
  } catch (error) {
    reply = { error: { code: -32603, message: error.message } };
  }
  console.log(JSON.stringify({ jsonrpc: '2.0', id: request.id, ...reply }));
}
