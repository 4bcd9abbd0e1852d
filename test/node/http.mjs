// The same exchange over Streamable HTTP, with both official clients, and many
// clients at once.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { exchange, transport } from './exchange.mjs';
import { assert, body, check, environment, equal, finish, listening, makeSkills, processesWith, until, withDeadline } from './lib.mjs';

const any = { '~standard': { version: 1, vendor: 'clients', validate: (value) => ({ value }) } };

/** Starts a server on a free port; the address is what it says on either stream. */
async function serve(command, env) {
  const server = command[0] === process.env.SKILL_MCP_FIXTURE ? ['--http', '127.0.0.1:0'] : ['serve', '--http', '127.0.0.1:0'];
  const child = spawn(command[0], [...command.slice(1), ...server], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { said += chunk; });
  await until(() => /http:\/\/\S+/.test(said) || child.exitCode !== null, 20_000, 'the address');
  assert(child.exitCode === null, `the server ended: ${said}`);
  return {
    url: new URL(said.match(/http:\/\/\S+/)[0]),
    pid: child.pid,
    async end() {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      const [code] = await withDeadline(gone, 6000, 'the end of the server');
      equal(code, 0, `exit code of the server (${said.slice(-2000)})`);
    },
  };
}

async function connect1(url, { elicit, changed, capabilities }) {
  const client = new Client1({ name: 'clients', version: '1' }, {
    capabilities: capabilities ?? (elicit ? { elicitation: {} } : {}), ...listening(changed),
  });
  if (elicit) client.setRequestHandler(ElicitRequestSchema, (request) => elicit(request.params.message));
  const way = new Transport1(url);
  await client.connect(way);
  return {
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    request: (method, params) => client.request({ method, params }, ResultSchema),
    async close() {
      await way.terminateSession();
      await client.close();
    },
  };
}

const connect2 = (mode) => async (url, { elicit, changed, capabilities }) => {
  const client = new Client2({ name: 'clients', version: '1' }, {
    capabilities: capabilities ?? (elicit ? { elicitation: {} } : {}), ...(mode ? { versionNegotiation: { mode } } : {}),
    ...listening(changed),
  });
  if (elicit) client.setRequestHandler('elicitation/create', (request) => elicit(request.params.message));
  await client.connect(new Transport2(url));
  return {
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    request: (method, params) => client.request({ method, params }, any),
    close: () => client.close(),
  };
};

/** An adapter that has a server of its own for each connection. */
function adapterFor(name, modern, connect) {
  return {
    name,
    modern,
    async connect(options) {
      const server = await serve(options.command, options.env);
      const c = await connect(server.url, options);
      return {
        ...c,
        pid: server.pid,
        async close() {
          await c.close();
          await server.end();
        },
      };
    },
  };
}

const adapters = [
  adapterFor('http: sdk 1.32.2', false, connect1),
  adapterFor('http: client 2.4.0 auto', true, connect2('auto')),
];

async function crowd(command, skills) {
  const server = await serve(command, environment({ SKILLS_DIR: skills.dir }));
  const elicit = () => ({ action: 'accept', content: { confirmed: true } });
  const runner = await connect1(server.url, { elicit });
  const stop = new AbortController();
  const mark = 'crowd-' + process.pid;
  const running = runner.call('skill_run', { name: 'talker', script: 'scripts/wait.js', args: [mark] }, { signal: stop.signal }).catch(() => 'stopped');
  await until(() => processesWith(mark) > 0, 20_000, 'the script starts');
  const connects = [connect1, connect2(), connect2('auto'), connect2({ pin: '2026-07-28' })];
  await Promise.all(Array.from({ length: 64 }, async (_, i) => {
    const c = await connects[i % connects.length](server.url, { elicit });
    equal(body(await c.call('skill_list', {})).skills.length, 1, 'the skills');
    assert(body(await c.call('skill_load', { name: 'talker' })).body.startsWith('# Talker'), 'the body');
    if (i % 16 === 0) {
      const busy = await c.call('skill_run', { name: 'talker', script: 'scripts/report.js' });
      assert(busy.isError && /in flight/.test(busy.content[0].text), 'a second run was not told to wait');
    }
    await c.close();
  }));
  assert(processesWith(mark) > 0, 'the run did not last');
  stop.abort();
  equal(await running, 'stopped', 'the run');
  await until(() => processesWith(mark) === 0, 10_000, 'the script ends');
  await runner.close();
  await server.end();
}

for (const adapter of adapters) await transport(adapter, [process.env.SKILL_MCP_FIXTURE]);
if (process.env.SKILL_MCP_BIN) {
  const skills = makeSkills();
  for (const adapter of adapters) await exchange(adapter, [process.env.SKILL_MCP_BIN], skills);
  await check('http: 64 clients at once while one runs', () => crowd([process.env.SKILL_MCP_BIN], skills));
  skills.remove();
}
finish();
