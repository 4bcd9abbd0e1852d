// Leaves awkward files in the private directory. Argument: JSON {mode, count}.
// Modes: odd (link, socket, closed directory, sparse file), deep, many. One JSON line.
'use strict';
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');

const a = JSON.parse(process.argv[2] || '{}');
const attempt = f => { try { f(); return 'ok'; } catch (e) { return e.code || String(e); } };
const acts = {};
const at = name => path.join(os.tmpdir(), name);
const say = () => { console.log(JSON.stringify({ probe: 'files', acts })); process.exit(0); };
switch (a.mode) {
  case 'deep': {
    acts.deep = attempt(() => { process.chdir(os.tmpdir()); for (let i = 0; i < (a.count || 3000); i++) { fs.mkdirSync('d'); process.chdir('d'); } });
    say();
    break;
  }
  case 'many': {
    let made = 0;
    acts.many = attempt(() => { for (; made < (a.count || 100000); made++) fs.closeSync(fs.openSync(at('f' + made), 'w')); });
    acts.made = String(made);
    say();
    break;
  }
  default:
    acts.symlink = attempt(() => fs.symlinkSync('/etc/shadow', at('link')));
    acts.loop = attempt(() => fs.symlinkSync('loop', at('loop')));
    acts.sparse = attempt(() => { const fd = fs.openSync(at('sparse'), 'w'); try { fs.ftruncateSync(fd, 2 ** 40); } finally { fs.closeSync(fd); } });
    acts.closed = attempt(() => { fs.mkdirSync(at('closed')); fs.writeFileSync(at('closed/x'), ''); fs.chmodSync(at('closed'), 0); });
    net.createServer().on('error', e => { acts.socket = e.code; say(); }).listen(at('sock'), () => { acts.socket = 'ok'; say(); });
}
