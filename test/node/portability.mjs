// skills-ref as a second opinion: what we call portable it accepts, what we
// call not-portable it refuses. The roots are given as arguments.
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { validate } from 'skills-ref';
import { body, check, environment, finish } from './lib.mjs';

// Keys beyond the specification's are the host's business: the specification
// has metadata for them, but real skills, and our own mcp-host, do not use it.
const ours = (error) => !error.startsWith('Unexpected fields in frontmatter');

// Known differences, each with its reason.
const differences = [
  { text: /exceeds 1024 character limit/, why: 'skills-ref counts UTF-16 units, the specification characters' },
  { text: /must start with YAML frontmatter/, why: 'a byte order mark and blanks behind a fence are accepted here' },
  { text: / GMT/, why: 'skills-ref reads a date where YAML 1.2 core has text' },
  { name: (dir) => dir !== dir.normalize('NFKC'), why: 'skills-ref compares names after NFKC, here they are compared as they are' },
  { mine: /name|description/, valid: true, why: 'skills-ref turns numbers, dates and null into text first' },
];

async function listed(root) {
  const client = new Client({ name: 'clients', version: '1' });
  await client.connect(new StdioClientTransport({
    command: process.env.SKILL_MCP_BIN, env: environment({ SKILLS_DIR: root }), stderr: 'ignore',
  }));
  try {
    const list = body(await client.callTool({ name: 'skill_list', arguments: {} }));
    const refused = new Map((list.notPortable ?? []).map((p) => [realpathSync(p.path), p.detail]));
    return { served: new Set(list.skills.map((s) => s.name)), refused };
  } finally {
    await client.close();
  }
}

/** The folders with a SKILL.md that a root serves, by name. */
function folders(root) {
  const found = existsSync(join(root, 'SKILL.md')) ? [root] : [];
  for (const parent of found.length ? [] : [root, join(root, 'skills')]) {
    if (!existsSync(parent) || !statSync(parent).isDirectory()) continue;
    for (const name of readdirSync(parent)) {
      if (!name.startsWith('.') && existsSync(join(parent, name, 'SKILL.md'))) found.push(join(parent, name));
    }
  }
  return found;
}

async function compare(root) {
  const { served, refused } = await listed(root);
  const disagreements = [];
  for (const dir of folders(root)) {
    if (!served.has(basename(realpathSync(dir)))) continue; // a problem of another kind
    const theirs = (await validate(realpathSync(dir))).filter(ours);
    const mine = refused.get(realpathSync(dir));
    if ((theirs.length > 0) === (mine !== undefined)) continue;
    const known = differences.some((d) => (d.text ? theirs.some((e) => d.text.test(e)) : true)
      && (d.name?.(basename(dir)) ?? true) && (d.mine ? d.mine.test(mine ?? '') : true) && (d.valid ? theirs.length === 0 : true));
    if (!known) disagreements.push(`${basename(dir)}: we say ${mine ?? 'portable'}, skills-ref says ${theirs.join('; ') || 'valid'}`);
  }
  if (disagreements.length > 0) throw new Error(disagreements.join('\n'));
}

for (const root of process.argv.slice(2)) await check(`skills-ref agrees on ${root}`, () => compare(root));
finish();
