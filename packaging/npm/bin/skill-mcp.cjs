#!/usr/bin/env node
'use strict';
// Starts the program of this platform's package and is otherwise not there: the
// streams are the program's own, signals go on to it, and it ends as the program
// ended. Standard output belongs to MCP, so nothing is ever printed there.
const { spawn } = require('node:child_process');
const path = require('node:path');
const os = require('node:os');

function fail(message) {
  process.stderr.write(`skill-mcp: ${message}\n`);
  process.exit(1);
}

const wanted = `@chrischall/skill-mcp-${process.platform}-${process.arch}`;
let folder;
try {
  folder = path.dirname(require.resolve(`${wanted}/package.json`));
} catch {
  fail(`${wanted} is not installed: there is no build for ${process.platform} on ${process.arch}, ` +
    'or optional packages were left out; install again without --omit=optional');
}

const program = path.join(folder, 'bin', process.platform === 'win32' ? 'skill-mcp.exe' : 'skill-mcp');
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (err) => fail(`start ${program}: ${err.message}`));

// A signal to the group reaches both; the server takes the second one within
// half a second for the same.
const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
for (const signal of forwarded) {
  try {
    process.on(signal, () => child.kill(signal));
  } catch {
    // Not a signal of this platform.
  }
}

child.on('exit', (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  for (const s of forwarded) process.removeAllListeners(s);
  process.kill(process.pid, signal);
  // Reached where the signal does not end node, as on Windows.
  setTimeout(() => process.exit(128 + (os.constants.signals[signal] || 0)), 1000);
});
