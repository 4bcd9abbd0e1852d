// What the client tests share: one line of JSON per check on standard output,
// a skill to serve, and a look at the processes of this machine.
import { chmodSync, mkdtempSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let failed = 0;

/** Runs one check and reports it; a check never stops the next one. */
export async function check(name, body) {
  const began = performance.now();
  try {
    await withDeadline(body(), 60_000, 'the check');
    line({ name, ok: true, ms: Math.round(performance.now() - began) });
  } catch (error) {
    failed++;
    line({ name, ok: false, detail: String(error?.stack ?? error).slice(0, 4000) });
  }
}

/** Ends the driver, whatever a client still waits for. */
export function finish() {
  process.exit(failed === 0 ? 0 : 1);
}

function line(value) {
  process.stdout.write(JSON.stringify(value) + '\n');
}

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

export function equal(got, want, what) {
  const a = JSON.stringify(got);
  const b = JSON.stringify(want);
  if (a !== b) throw new Error(`${what}: got ${a?.slice(0, 600)}, want ${b?.slice(0, 600)}`);
}

/** Rejects when promise has not settled in time. */
export function withDeadline(promise, ms, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Waits for condition to hold, at most ms. */
export async function until(condition, ms, what) {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A folder with one skill whose scripts report, talk and wait. */
export function makeSkills() {
  const dir = mkdtempSync(join(tmpdir(), 'skill-mcp-clients-'));
  chmodSync(dir, 0o755); // the front gives up root when its user can read the skills
  const skill = join(dir, 'talker');
  mkdirSync(join(skill, 'scripts'), { recursive: true });
  mkdirSync(join(skill, 'data'));
  writeFileSync(join(skill, 'SKILL.md'), `---
name: talker
description: A skill that the client tests run.
mcp-host:
  version: 1
  run:
    - script: scripts/report.js
      interpreter: node
      timeout: 20
    - script: scripts/wait.js
      interpreter: node
      timeout: 60
---
# Talker

It reports and it waits.
`);
  writeFileSync(join(skill, 'scripts', 'report.js'), 'console.log(JSON.stringify({ argv: process.argv.slice(2) }));\n');
  writeFileSync(join(skill, 'scripts', 'wait.js'),
    "console.error('waiting ' + process.argv[2]);\nsetInterval(() => {}, 1000);\n");
  for (let i = 1; i <= 4; i++) {
    writeFileSync(join(skill, 'data', `mega${i}.txt`), 'line of text\n'.repeat(1 << 17).slice(0, 1 << 20));
  }
  writeFileSync(join(skill, 'data', 'quotes.txt'), '"\\'.repeat(1 << 19));
  return { dir, skill, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** Counts the processes of this machine that have text in their arguments. */
export function processesWith(text) {
  let count = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)) count++;
    } catch {
      // It ended while we looked.
    }
  }
  return count;
}

/** The JSON in the one text block of a tool's result. */
export function body(result) {
  equal(result.content.length, 1, 'content blocks');
  return JSON.parse(result.content[0].text);
}

/** The client option that has changed() called, for either official client. */
export function listening(changed) {
  return changed ? { listChanged: { prompts: { autoRefresh: false, debounceMs: 0, onChanged: () => changed() } } } : {};
}

/** The environment a server is started with: what a host would give, and more. */
export function environment(more) {
  const { PATH, HOME, LANG, GOCOVERDIR } = process.env;
  return Object.fromEntries(Object.entries({ PATH, HOME, LANG, GOCOVERDIR, ...more }).filter(([, value]) => value !== undefined));
}
