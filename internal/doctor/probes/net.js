// Tries the ways out of the machine and to other processes of it. Argument:
// JSON with the addresses. One JSON line: acts, each "ok" or an errno.
'use strict';
const net = require('net');
const dgram = require('dgram');
const dns = require('dns');
const os = require('os');
const path = require('path');

const a = JSON.parse(process.argv[2] || '{}');
const acts = {};
const patience = a.patience || 800;
const within = (name, start) => new Promise(done => {
  let over = false;
  const end = r => { if (!over) { over = true; acts[name] = r; clearTimeout(timer); done(); } };
  const timer = setTimeout(() => end('ETIMEDOUT'), patience);
  try { start(end); } catch (e) { end(e.code || String(e)); }
});
const connect = (name, options) => within(name, end => {
  const s = net.connect(options);
  s.on('connect', () => { s.destroy(); end('ok'); });
  s.on('error', e => end(e.code || String(e)));
});
const listen = (name, options) => within(name, end => {
  const s = net.createServer();
  s.on('error', e => end(e.code || String(e)));
  s.listen(options, () => s.close(() => end('ok')));
});
const udp = (name, type, port, host) => within(name, end => {
  const s = dgram.createSocket(type);
  const over = r => { try { s.close(); } catch (e) { /* closed */ } end(r); };
  s.on('error', e => over(e.code || String(e)));
  s.send('x', port, host, e => over(e ? e.code : 'ok'));
});

(async () => {
  // Controls: sockets between the run's own processes.
  await within('own unix socket', end => {
    const p = path.join(os.tmpdir(), 'own.sock');
    const s = net.createServer(c => c.end());
    s.on('error', e => end(e.code));
    s.listen(p, () => net.connect(p).on('connect', () => { s.close(); end('ok'); }).on('error', e => end(e.code)));
  });
  await within('own abstract socket', end => {
    const p = '\0own-' + process.pid;
    const s = net.createServer(c => c.end());
    s.on('error', e => end(e.code));
    s.listen(p, () => net.connect(p).on('connect', () => { s.close(); end('ok'); }).on('error', e => end(e.code)));
  });
  const work = [
    connect('tcp decoy', { host: '127.0.0.1', port: a.tcp }),
    connect('tcp6 loopback', { host: '::1', port: a.tcp6 || a.tcp }),
    connect('metadata', { host: '169.254.169.254', port: 80 }),
    connect('public', { host: '192.0.2.1', port: 443 }),
    listen('listen loopback', { host: '127.0.0.1', port: 0 }),
    listen('listen any', { port: 0 }),
    udp('udp decoy', 'udp4', a.udp || 9, '127.0.0.1'),
    within('dns lookup', end => dns.lookup('example.invalid', e => end(e ? e.code : 'ok'))),
    within('dns resolve', end => dns.resolve4('example.org', e => end(e ? e.code : 'ok'))),
    within('interfaces', end => { const i = os.networkInterfaces(); end(Object.keys(i).filter(n => n !== 'lo').join(' ') || 'ENONE'); }),
  ];
  if (a.unix) work.push(connect('unix decoy', { path: a.unix }));
  if (a.abstract) work.push(connect('abstract decoy', { path: '\0' + a.abstract }));
  await Promise.all(work);
  console.log(JSON.stringify({ probe: 'net', acts }));
  process.exit(0);
})();
