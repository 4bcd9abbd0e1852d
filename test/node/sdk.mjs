// @modelcontextprotocol/sdk 1.x over stdio: the client most hosts have today.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { exchange, transport } from './exchange.mjs';
import { finish, listening, makeSkills } from './lib.mjs';

const adapter = {
  name: 'sdk 1.32.2',
  modern: false,
  async connect({ command, env, elicit, changed, capabilities }) {
    const client = new Client({ name: 'clients', version: '1' }, {
      capabilities: capabilities ?? (elicit ? { elicitation: {} } : {}), ...listening(changed),
    });
    if (elicit) client.setRequestHandler(ElicitRequestSchema, (request) => elicit(request.params.message));
    const stdio = new StdioClientTransport({ command: command[0], args: command.slice(1), env, stderr: 'inherit' });
    await client.connect(stdio);
    return {
      pid: stdio.pid,
      call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
      request: (method, params) => client.request({ method, params }, ResultSchema),
      close: () => client.close(),
    };
  },
};

await transport(adapter, [process.env.SKILL_MCP_FIXTURE]);
if (process.env.SKILL_MCP_BIN) {
  const skills = makeSkills();
  await exchange(adapter, [process.env.SKILL_MCP_BIN], skills);
  skills.remove();
}
finish();
