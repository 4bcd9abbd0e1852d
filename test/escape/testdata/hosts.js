// Tries hosts in every way a program may, and prints what came of each.
// Argument: {http, https, echo} ports of the test's servers on the host.
const fs = require('fs'), net = require('net'), tls = require('tls'), http = require('http'), dgram = require('dgram');
const ports = JSON.parse(process.argv[2]);
const ca = fs.readFileSync('ca.pem');
const proxy = process.env.HTTP_PROXY ? new URL(process.env.HTTP_PROXY) : null;
const word = e => e.cause?.code ?? e.code ?? e.message;

// open gives a connection to a host: through the proxy where there is one.
const open = (host, port) => new Promise((done, fail) => {
  const s = net.connect({ host: proxy ? proxy.hostname : host, port: proxy ? +proxy.port : port });
  s.setTimeout(8000, () => fail(new Error('timeout')));
  s.once('error', fail);
  if (!proxy) return s.once('connect', () => done(s));
  const to = (host.includes(':') ? `[${host}]` : host) + ':' + port;
  s.once('connect', () => s.write(`CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n\r\n`));
  s.once('data', d => { const n = String(d).split(' ')[1]; n === '200' ? done(s) : fail(new Error(n)); });
});
const reply = (s, text) => new Promise((done, fail) => {
  let all = '';
  s.on('data', d => { all += d; if (/hello|pong/.test(all)) { s.destroy(); done(/(hello [^\r\n]*|pong)/.exec(all)[1]); } });
  s.on('error', fail); s.on('close', () => done(all ? 'cut' : 'closed'));
  s.write(text);
});
const get = (host, header = host) => `GET / HTTP/1.1\r\nHost: ${header}\r\nConnection: close\r\n\r\n`;
const secure = async (host, servername = host) => {
  const s = tls.connect({ socket: await open(host, ports.https), servername, ca });
  await new Promise((done, fail) => { s.once('secureConnect', done); s.once('error', fail); s.once('close', () => fail(new Error('closed'))); });
  return reply(s, get(host));
};
const udp = (host, port) => new Promise(done => {
  const s = dgram.createSocket(host.includes(':') ? 'udp6' : 'udp4');
  s.on('error', e => done(e.code)); s.on('message', () => done('answered'));
  s.connect(port, host, e => { if (e) return done(e.code); s.send('x', e => e && done(e.code)); setTimeout(() => done('silence'), 300).unref(); });
});
const connect = async (host, port = ports.http) => { (await open(host, port)).destroy(); return 'connected'; };

const acts = {
  'http': async () => reply(await open('listed.test', ports.http), get('listed.test')),
  'http below a wildcard': async () => reply(await open('a.b.wild.test', ports.http), get('a.b.wild.test')),
  'https': () => secure('listed.test'),
  'https, wrong certificate': () => secure('other.listed.test'),
  'net': async () => reply(await open('listed.test', ports.echo), 'ping'),
  'fetch': async () => (await (await fetch(`http://listed.test:${ports.http}/`)).text()).trim(),
  'own server': () => new Promise((done, fail) => net.createServer().on('error', fail).listen(0, '127.0.0.1', () => done('listens'))),
  'unlisted name': () => connect('evil.test'),
  'apex of a wildcard': () => connect('wild.test'),
  'public address': () => connect('192.0.2.7'),
  'address of a listed host': () => connect('127.0.0.1'),
  'IPv6': () => connect('2001:db8::1'),
  'metadata': () => connect('169.254.169.254'),
  'metadata, decimal': () => connect('2852039166'),
  'metadata, octal': () => connect('0251.0376.0251.0376'),
  'metadata, hex': () => connect('0xa9fea9fe'),
  'metadata, mapped': () => connect('::ffff:169.254.169.254'),
  'metadata, NAT64': () => connect('64:ff9b::a9fe:a9fe'),
  'alias to an internal name': () => connect('alias.listed.test'),
  'rebinding name': async () => { await connect('rebind.listed.test').catch(() => 0); return connect('rebind.listed.test'); },
  'DoH at an unlisted host': async () => (await fetch('https://dns.test/dns-query?name=evil.test')).status,
  'server name': () => secure('listed.test', 'evil.test'),
  'Host header': async () => reply(await open('listed.test', ports.http), get('listed.test', 'evil.test')),
  'UDP': () => udp('192.0.2.7', 53),
  'UDP over IPv6': () => udp('2001:db8::1', 53),
};
(async () => {
  const said = {};
  for (const [name, act] of Object.entries(acts)) said[name] = await act().catch(word);
  console.log(JSON.stringify({ acts: said }));
  process.exit(0);
})();
