// Leaves processes behind. Arguments: JSON {mark, mode}. mode: "group" children
// of the same group, "session" children of sessions of their own; "exit" the
// leader ends, "sleep" it stays. All hold stdout and carry the mark in argv.
'use strict';
const { spawn } = require('child_process');

const a = JSON.parse(process.argv[2] || '{}');
const [kind, then] = (a.mode || 'group exit').split(' ');
const stay = 'setInterval(() => {}, 1000)';
const children = [];
let denied = '';
const start = (code, detached) => {
  const c = spawn(process.execPath, ['-e', code, a.mark], { detached, stdio: ['ignore', 'inherit', 'ignore'] });
  c.on('error', e => { denied = e.code; });
  if (c.pid) children.push(c.pid);
};
const detached = kind === 'session';
start(stay, detached);
// A child that leaves a grandchild and ends.
start(`require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(stay)}, ${JSON.stringify(a.mark)}], { detached: ${detached}, stdio: ['ignore', 'inherit', 'ignore'] }).unref()`, detached);
setTimeout(() => {
  const alive = children.filter(p => { try { process.kill(p, 0); return true; } catch (e) { return false; } }).length;
  process.stdout.write(JSON.stringify({ probe: 'tree', children: children.length, alive, denied }) + '\n', () => {
    if (then === 'sleep') setInterval(() => {}, 1000); else process.exit(0);
  });
}, 300);
