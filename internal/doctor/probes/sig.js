// Signals and slows down other processes. Argument: JSON with their pids. One
// JSON line: acts, each "ok" or an errno. Signal 0 only asks for permission.
'use strict';
const os = require('os');

const a = JSON.parse(process.argv[2] || '{}');
const attempt = f => { try { f(); return 'ok'; } catch (e) { return (e.info && e.info.code) || e.code || String(e); } };
const acts = {};
acts['signal self'] = attempt(() => process.kill(process.pid, 0));
acts['nice self'] = attempt(() => os.setPriority(0, 19));
for (const [who, pid] of [['monitor', a.monitor], ['front', a.front], ['decoy', a.decoy]]) {
  if (!pid) continue;
  acts['signal ' + who] = attempt(() => process.kill(pid, 0));
  acts['wake ' + who] = attempt(() => process.kill(pid, 'SIGCONT'));
  acts['nice ' + who] = attempt(() => os.setPriority(pid, 19));
  acts['see ' + who] = attempt(() => require('fs').readdirSync('/proc/' + pid));
}
if (process.ppid > 0) acts['nice parent'] = attempt(() => os.setPriority(process.ppid, 19));
acts['signal everybody'] = attempt(() => process.kill(-1, 0));
console.log(JSON.stringify({ probe: 'sig', acts, ppid: process.ppid }));
