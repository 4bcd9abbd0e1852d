// The checks every official client has to pass, whatever its age. An adapter
// says how that client connects, calls, and is asked:
//
//   name                 for the report
//   modern               it speaks revision 2026-07-28
//   connect(options)     -> a connection; options: { command, env, elicit, capabilities }
//                           elicit(message) answers a prompt
//                           changed() is told that the list of prompts has changed
//   connection.call(name, args, { onprogress, signal, timeout })
//   connection.request(method, params)
//   connection.pid, connection.close()
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert, body, check, environment, equal, processesWith, until, withDeadline } from './lib.mjs';

const accept = () => ({ action: 'accept', content: { confirmed: true } });
const run = (script, ...args) => ({ name: 'talker', script: `scripts/${script}.js`, args });

/** The whole exchange with the real server. */
export async function exchange(adapter, command, skills) {
  const env = environment({ SKILLS_DIR: skills.dir });
  const each = (name, options, use) => check(`${adapter.name}: ${name}`, () => using(adapter, { command, env, ...options }, use));

  await each('lists four tools and reads a skill', {}, reads);
  await each('reads files up to the limits', {}, readsMuch);
  await each('reads resources and prompts', {}, readsResources);
  await each('runs what is accepted', { elicit: accept }, async (c) => {
    const result = body(await c.call('skill_run', run('report', 'a', 'b c')));
    equal([result.exitCode, JSON.parse(result.stdout).argv], [0, ['a', 'b c']], 'the run');
    assert(result.fence, 'the result does not say what was in force');
  });
  await each('runs nothing that is declined', { elicit: () => ({ action: 'decline' }) }, async (c) => {
    const result = body(await c.call('skill_run', run('report')));
    equal([result.confirmed, result.cancelled], [false, true], 'the answer');
  });
  await each('is asked in words for a person', {
    elicit: (message) => { asked = message; return { action: 'cancel' }; },
  }, async (c) => {
    await c.call('skill_run', run('report', 'a word'));
    for (const part of ['talker', 'scripts/report.js', 'a word']) assert(asked.split('\n')[0].includes(part), `the first line lacks ${part}: ${asked}`);
  });
  await each('gets a token when it cannot be asked', { capabilities: {} }, tokenRail);
  await each('shows progress before the result', { elicit: accept }, progress);
  await each('cancels a running script', { elicit: accept }, cancelsRunning);
  await cancelsWaiting(adapter, { command, env });
  await neverAnswers(adapter, { command, env: { ...env, MCP_CONFIRM_WAIT_SECONDS: '2' } });
  await check(`${adapter.name}: a signal ends the server and its run`, () => signalled(adapter, { command, env, elicit: accept }));
  await reloads(adapter, { command, env }, skills, 'SIGHUP', (c) => process.kill(c.pid, 'SIGHUP'));
  await reloads(adapter, { command, env: { ...env, MCP_SKILL_WATCH: '1' } }, skills, 'the watch', () => {});
  await check(`${adapter.name}: leaves no server behind`, () => leavesNothing(adapter, { command, env }));
}

let asked = '';

async function using(adapter, options, use) {
  const c = await adapter.connect(options);
  try {
    await use(c, adapter);
  } finally {
    await c.close();
  }
}

async function reads(c) {
  const { tools } = await c.request('tools/list', {});
  equal(tools.map((t) => t.name).sort(), ['skill_file', 'skill_list', 'skill_load', 'skill_run'], 'the tools');
  const list = body(await c.call('skill_list', {}));
  equal(list.skills.map((s) => s.name), ['talker'], 'the skills');
  equal(list.skills[0].executable, true, 'executable');
  const load = body(await c.call('skill_load', { name: 'talker' }));
  assert(load.body.startsWith('# Talker'), `the body is ${load.body}`);
  const wrong = await c.call('skill_load', { name: 'nobody' });
  assert(wrong.isError && wrong.content[0].text.includes('talker'), 'an unknown skill does not name the known ones');
}

async function readsMuch(c) {
  for (const count of [1, 2, 4]) {
    const paths = Array.from({ length: count }, (_, i) => `data/mega${i + 1}.txt`);
    const { files } = body(await c.call('skill_file', { name: 'talker', paths }));
    equal(files.map((f) => f.content.length), paths.map(() => 1 << 20), 'the lengths');
  }
  const four = Array.from({ length: 4 }, () => 'data/quotes.txt');
  const { files } = body(await c.call('skill_file', { name: 'talker', paths: four }));
  for (const f of files) {
    const text = f.encoding === 'base64' ? Buffer.from(f.content, 'base64').toString() : f.content;
    assert(text === '"\\'.repeat(1 << 19), 'a file that is hard to escape has changed on its way');
  }
}

async function readsResources(c) {
  const { resources } = await c.request('resources/list', {});
  assert(resources.some((r) => r.uri === 'skill://talker/SKILL.md'), 'SKILL.md is not listed');
  for (const r of resources) {
    const { contents } = await c.request('resources/read', { uri: r.uri });
    equal(contents[0].uri, r.uri, 'the uri');
  }
  const { prompts } = await c.request('prompts/list', {});
  equal(prompts.map((p) => p.name), ['talker'], 'the prompts');
  const prompt = await c.request('prompts/get', { name: 'talker' });
  assert(prompt.messages[0].content.text.includes('# Talker'), 'the prompt is not the body');
  const wanted = { ref: { type: 'ref/resource', uri: 'skill://{skill}/{+path}' }, argument: { name: 'skill', value: 'ta' } };
  equal((await c.request('completion/complete', wanted)).completion.values, ['talker'], 'the completion');
  await assertRejects(c.request('resources/read', { uri: 'skill://talker/none' }), (e) => [-32602, -32002].includes(e.code));
}

async function assertRejects(promise, fits) {
  const error = await promise.then(() => undefined, (e) => e);
  assert(error, 'it was not refused');
  assert(fits(error), `refused with ${error.code} ${error}`);
}

async function tokenRail(c) {
  const preview = body(await c.call('skill_run', run('report', 'x')));
  equal(preview.status, 'confirmation-required', 'the status');
  const again = await c.call('skill_run', { ...run('report', 'x'), confirmToken: preview.confirmToken });
  equal(body(again).exitCode, 0, 'the exit code');
  const reused = await c.call('skill_run', { ...run('report', 'x'), confirmToken: preview.confirmToken });
  assert(reused.isError && reused.content[0].text.includes('TOKEN_REUSED'), 'a token acted twice');
}

async function progress(c, adapter) {
  const seen = [];
  const stop = new AbortController();
  const done = c.call('skill_run', run('wait', randomUUID()), { onprogress: (p) => seen.push(p), signal: stop.signal }).catch(() => 'stopped');
  await until(() => seen.length > 0, 30_000, 'the first progress');
  stop.abort();
  equal(await done, 'stopped', 'the call');
  // The retry with the person's answer is a request of its own, with a token and a count of its own.
  const falls = seen.filter((p, i) => i > 0 && p.progress <= seen[i - 1].progress).length;
  assert(falls <= (adapter.modern ? 1 : 0), `progress does not rise: ${seen.map((p) => p.progress)}`);
}

async function cancelsRunning(c) {
  const mark = randomUUID();
  const stop = new AbortController();
  const call = c.call('skill_run', run('wait', mark), { signal: stop.signal }).catch(() => 'stopped');
  await until(() => processesWith(mark) > 0, 30_000, 'the script starts');
  const busy = await c.call('skill_run', run('report'));
  assert(busy.isError && /in flight/.test(busy.content[0].text), 'a second run was not told to wait');
  stop.abort();
  equal(await call, 'stopped', 'the call');
  await until(() => processesWith(mark) === 0, 10_000, 'the script ends');
  await until(async () => !(await c.call('skill_run', run('report'))).isError, 10_000, 'the next run');
}

// A call that waits for a person and is cancelled runs nothing, and takes its
// prompt away from a client of the old era.
async function cancelsWaiting(adapter, options) {
  await check(`${adapter.name}: cancels a call that waits for a person`, async () => {
    const mark = randomUUID();
    let prompted = false;
    const elicit = () => { prompted = true; return new Promise(() => {}); };
    await using(adapter, { ...options, elicit }, async (c) => {
      const stop = new AbortController();
      const call = c.call('skill_run', run('wait', mark), { signal: stop.signal }).catch(() => 'stopped');
      await until(() => prompted, 20_000, 'the prompt');
      stop.abort();
      // In revision 2026-07-28 the server has answered, and the client waits for
      // its own handler, whatever the signal says.
      if (!adapter.modern) equal(await withDeadline(call, 5000, 'the cancelled call'), 'stopped', 'the call');
      equal(body(await c.call('skill_list', {})).skills.length, 1, 'the next call');
      equal(processesWith(mark), 0, 'scripts running');
    });
  });
}

async function neverAnswers(adapter, options) {
  await check(`${adapter.name}: a person who never answers`, async () => {
    await using(adapter, { ...options, elicit: () => new Promise(() => {}) }, async (c) => {
      const call = c.call('skill_run', run('report', 'late'), { timeout: 15_000 });
      if (adapter.modern) {
        // The question is the client's to ask: the server waits for nothing.
        call.catch(() => {});
        equal(body(await c.call('skill_list', {})).skills.length, 1, 'the next call');
        return;
      }
      const preview = body(await withDeadline(call, 10_000, 'the fall-back'));
      equal(preview.status, 'confirmation-required', 'the status');
      equal(body(await c.call('skill_run', { ...run('report', 'late'), confirmToken: preview.confirmToken })).exitCode, 0, 'the exit code');
    });
  });
}

async function signalled(adapter, options) {
  const c = await adapter.connect(options);
  const mark = randomUUID();
  c.call('skill_run', run('wait', mark)).catch(() => {});
  await until(() => processesWith(mark) > 0, 30_000, 'the script starts');
  const began = performance.now();
  process.kill(c.pid, 'SIGTERM');
  await until(() => !alive(c.pid) && processesWith(mark) === 0, 8000, 'the end');
  const took = performance.now() - began;
  assert(took < 5000, `the end took ${took} ms`);
  await c.close().catch(() => {});
}

// A skill that is added and removed while the server runs is seen, and a client
// that wants to know is told.
async function reloads(adapter, options, skills, how, nudge) {
  await check(`${adapter.name}: sees a skill come and go by ${how}`, async () => {
    let told = 0;
    await using(adapter, { ...options, changed: () => { told++; } }, async (c) => {
      const names = async () => body(await c.call('skill_list', {})).skills.map((s) => s.name);
      equal(await names(), ['talker'], 'the skills before');
      const dir = join(skills.dir, 'guest');
      try {
        mkdirSync(dir);
        writeFileSync(join(dir, 'SKILL.md'), '---\nname: guest\ndescription: Comes and goes.\n---\nHello.\n');
        nudge(c);
        await until(async () => (await names()).includes('guest'), 15_000, 'the new skill');
        await until(() => told > 0, 10_000, 'the word of it');
        const before = told;
        rmSync(dir, { recursive: true });
        nudge(c);
        await until(async () => !(await names()).includes('guest'), 15_000, 'the end of the skill');
        await until(() => told > before, 10_000, 'the word of its end');
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    });
  });
}

async function leavesNothing(adapter, options) {
  const c = await adapter.connect(options);
  await c.call('skill_list', {});
  const pid = c.pid;
  await c.close();
  await until(() => !alive(pid), 6000, 'the server ends');
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** What needs a server that answers with anything: the fixture. */
export async function transport(adapter, command) {
  const env = environment({});
  const each = (name, options, use) => check(`${adapter.name}: ${name}`, () => using(adapter, { command, env, ...options }, use));
  for (const mib of [1, 2, 4, 8]) {
    await each(`takes a result of ${mib} MiB`, {}, async (c) => {
      const bytes = mib * (1 << 20) - 4096;
      const result = await c.call('big', { bytes });
      assert(result.content[0].text === 'x'.repeat(bytes), 'the text has changed on its way');
    });
  }
  await each('is told of a result that is too long', {}, async (c) => {
    assert((await c.call('big', { bytes: 9 << 20 })).isError, 'it came');
  });
  await each('gets every progress line before the result', {}, async (c) => {
    const seen = [];
    const result = await c.call('test_tool_with_progress', {}, { onprogress: (p) => seen.push(p.message) });
    equal(seen, ['1 of 3', '2 of 3', '3 of 3'], 'the lines');
    equal(result.content[0].text, 'progressed', 'the result');
  });
  await each('answers a form', { elicit: () => ({ action: 'accept', content: { username: 'u', email: 'e' } }) }, async (c) => {
    const result = await c.call('test_elicitation', { message: 'who?' });
    assert(result.content[0].text.includes('action=accept') && result.content[0].text.includes('"username":"u"'), result.content[0].text);
  });
  await each('cancels', {}, async (c) => {
    const stop = new AbortController();
    let begun = false;
    const call = c.call('wait', {}, { signal: stop.signal, onprogress: () => { begun = true; } }).catch(() => 'stopped');
    await until(() => begun, 5000, 'the call begins');
    stop.abort();
    equal(await call, 'stopped', 'the call');
    equal((await c.call('test_simple_text', {})).content.length, 1, 'the next call');
  });
}
