// Reports what this run was given and what it can reach. It changes nothing outside its temporary folder.
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

/** Runs one attempt and says how it went. `expected` is what a complete fence answers. */
function attempt(what, expected, act) {
  try {
    act();
    return { what, answer: 'allowed', expected };
  } catch (error) {
    return { what, answer: 'refused', why: error.code ?? error.message, expected };
  }
}

/** Tries to open a TCP connection to a port of this machine where nothing listens. */
function connect() {
  return new Promise((resolve) => {
    const what = 'open a TCP connection';
    const socket = net.connect({ host: '127.0.0.1', port: 9 });
    const end = (answer, why) => {
      socket.destroy();
      resolve({ what, answer, ...(why && { why }), expected: 'refused' });
    };
    // ECONNREFUSED comes from the network itself: the attempt got through, and nobody was listening.
    socket.on('error', (error) => end('refused', error.code));
    socket.on('connect', () => end('allowed'));
    socket.setTimeout(1000, () => end('refused', 'no answer'));
  });
}

async function main() {
  const skill = path.dirname(__dirname);
  const scratch = path.join(os.tmpdir(), 'report.txt');
  const tries = [
    attempt('read this skill', 'allowed', () => fs.readFileSync(path.join(skill, 'SKILL.md'))),
    attempt('write to the temporary folder', 'allowed', () => fs.writeFileSync(scratch, 'x')),
    attempt('write to this skill', 'refused', () => fs.writeFileSync(path.join(skill, 'written-by-report'), 'x')),
    attempt('read the password file', 'refused', () => fs.readFileSync('/etc/shadow')),
    attempt('list the home folders', 'refused', () => fs.readdirSync('/home')),
    attempt("read the server's environment", 'refused', () => fs.readFileSync(`/proc/${process.ppid}/environ`)),
    attempt('signal process 1', 'refused', () => process.kill(1, 0)),
    await connect(),
  ];
  const report = {
    argv: process.argv.slice(2),
    cwd: process.cwd(),
    envNames: Object.keys(process.env).sort(),
    node: process.version,
    tries,
  };
  console.log(JSON.stringify(report, null, 2));
  const wrong = tries.filter((t) => t.answer !== t.expected).length;
  console.error(`report: ${tries.length} tries, ${wrong} not as a complete fence answers`);
}

main();
