// Opens and stats what a run may and may not read. Argument: JSON with the
// paths of the machine. One JSON line: acts, each "ok" or an errno.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');

const a = JSON.parse(process.argv[2] || '{}');
const attempt = f => { try { f(); return 'ok'; } catch (e) { return e.code || String(e); } };
const acts = {};
const open = (name, p) => {
  acts['open ' + name] = attempt(() => {
    const fd = fs.openSync(p, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    try { fs.readSync(fd, Buffer.alloc(1), 0, 1, null); } catch (e) { if (e.code !== 'EISDIR' && e.code !== 'EAGAIN') throw e; } finally { fs.closeSync(fd); }
  });
  acts['stat ' + name] = attempt(() => fs.statSync(p));
};
const list = (name, p) => { acts['list ' + name] = attempt(() => fs.readdirSync(p)); };

// Controls.
open('own-script', __filename);
open('own-bundle', path.join(__dirname, '..', 'SKILL.md'));
list('own-bundle', path.join(__dirname, '..'));
open('interpreter', process.execPath);
open('dev-null', '/dev/null');
open('dev-urandom', '/dev/urandom');
list('tmpdir', os.tmpdir());
open('self-status', '/proc/self/status');

// What belongs to others.
if (a.outside) { open('outside', a.outside); list('outside-dir', path.dirname(a.outside)); open('outside-through-root', '/proc/self/root' + a.outside); }
if (a.secret) open('secret', a.secret);
if (a.link) open('link-outside', a.link);
for (const p of ['/etc/shadow', '/etc/sudoers', '/root/.ssh/id_rsa', '/root/.bash_history', '/etc/hostname', '/var/log/syslog', '/boot',
  '/sys/kernel/debug', '/sys/fs/cgroup', '/proc/kcore', '/proc/kallsyms', '/proc/sysrq-trigger', '/dev/mem', '/dev/kmsg', '/dev/vda', '/dev/sda',
  '/var/run/docker.sock', '/run/docker.sock']) open(p, p);
if (a.home) { open('home', a.home); list('home', a.home); open('home-ssh', path.join(a.home, '.ssh')); }
for (const [who, pid] of [['parent', process.ppid], ['monitor', a.monitor], ['front', a.front], ['init', 1], ['decoy', a.decoy]]) {
  if (!pid || pid === process.pid) continue;
  for (const f of ['environ', 'mem', 'maps', 'fd/1', 'root/etc/hostname', 'cwd/.', 'exe']) open(who + '/' + f, '/proc/' + pid + '/' + f);
}
if (a.monitor) {
  acts['write monitor/exe'] = attempt(() => fs.closeSync(fs.openSync('/proc/' + a.monitor + '/exe', 'r+')));
  acts['write parent/exe'] = attempt(() => fs.closeSync(fs.openSync('/proc/' + process.ppid + '/exe', 'r+')));
}

// No text of the owner's environment anywhere the run can look.
const leaks = [];
if (a.sentinel) {
  let pids = [1, process.ppid, a.monitor, a.front].filter(Boolean).map(String);
  try { pids = pids.concat(fs.readdirSync('/proc').filter(n => /^\d+$/.test(n))); } catch (e) { /* no list: those that are known */ }
  for (const p of new Set(pids)) {
    for (const f of ['environ', 'cmdline']) {
      let text = '';
      try { text = fs.readFileSync('/proc/' + p + '/' + f, 'latin1'); } catch (e) { continue; }
      // The arguments of this run hold it, since they say what to look for.
      if (text.includes(a.sentinel) && !text.includes(__filename)) leaks.push(f + ' of ' + p);
    }
  }
  if (Object.values(process.env).some(v => v.includes(a.sentinel))) leaks.push('own environment');
}
console.log(JSON.stringify({ probe: 'fs-read', acts, leaks }));
