// @modelcontextprotocol/client 2.x over stdio in its three ways of choosing a
// revision, and its SkillsClient, which verifies every byte it reads.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { exchange, transport } from './exchange.mjs';
import { assert, check, environment, equal, finish, listening, makeSkills } from './lib.mjs';

// A schema that takes any result: these tests look at it themselves.
const any = { '~standard': { version: 1, vendor: 'clients', validate: (value) => ({ value }) } };

function adapterFor(name, mode, modern) {
  return {
    name: `client 2.4.0 ${name}`,
    modern,
    async connect({ command, env, elicit, changed, capabilities }) {
      const client = new Client({ name: 'clients', version: '1' }, {
        capabilities: capabilities ?? (elicit ? { elicitation: {} } : {}),
        ...(mode ? { versionNegotiation: { mode } } : {}), ...listening(changed),
      });
      if (elicit) client.setRequestHandler('elicitation/create', (request) => elicit(request.params.message));
      const stdio = new StdioClientTransport({ command: command[0], args: command.slice(1), env, stderr: 'inherit' });
      await client.connect(stdio);
      return {
        client,
        pid: stdio.pid,
        call: (tool, args, options) => client.callTool({ name: tool, arguments: args }, options),
        request: (method, params) => client.request({ method, params }, any),
        close: () => client.close(),
      };
    },
  };
}

const modes = [adapterFor('default', undefined, false), adapterFor('auto', 'auto', true), adapterFor('pinned', { pin: '2026-07-28' }, true)];

async function skillsExtension(adapter, command, skills) {
  await check(`${adapter.name}: SkillsClient verifies every file`, async () => {
    const c = await adapter.connect({ command, env: environment({ SKILLS_DIR: skills.dir }) });
    try {
      const ext = new SkillsClient(c.client);
      equal([ext.supported, ext.directoryRead], [true, true], 'the extension');
      const { skills: entries } = await ext.list();
      equal(entries.map((e) => e.uri), ['skill://talker/SKILL.md'], 'the entries');
      const manifest = await ext.read(entries[0]);
      assert(manifest.verified && manifest.frontmatter.name === 'talker', 'SKILL.md is not verified');
      for (const resource of entries[0].resources) {
        const file = await ext.read(entries[0], resource.uri);
        const path = decodeURIComponent(resource.uri.slice('skill://talker/'.length));
        assert(file.verified && Buffer.compare(Buffer.from(file.bytes), readFileSync(join(skills.skill, path))) === 0, `${path} has changed on its way`);
      }
      const { skill } = await ext.get(entries[0].uri);
      equal(skill, entries[0], 'the entry by its uri');
      const { resources } = await ext.readDirectory('skill://talker/scripts');
      equal(resources.map((r) => r.uri).sort(), ['skill://talker/scripts/report.js', 'skill://talker/scripts/wait.js'], 'the folder');
    } finally {
      await c.close();
    }
  });
}

for (const adapter of modes) {
  await transport(adapter, [process.env.SKILL_MCP_FIXTURE]);
  if (!process.env.SKILL_MCP_BIN) continue;
  const skills = makeSkills();
  await exchange(adapter, [process.env.SKILL_MCP_BIN], skills);
  await skillsExtension(adapter, [process.env.SKILL_MCP_BIN], skills);
  skills.remove();
}
finish();
