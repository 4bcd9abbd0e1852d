// What ordinary scripts do with node, each item on its own; prints {item: "ok" or the error}.
import assert from 'node:assert';
import { execFileSync, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import dgram from 'node:dgram';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import zlib from 'node:zlib';

const tmp = os.tmpdir();
const until = (emitter, event) => new Promise((resolve, reject) => emitter.once(event, resolve).once('error', reject));

const items = {
  async files() {
    const a = path.join(tmp, 'a'), b = path.join(tmp, 'b');
    fs.writeFileSync(a, 'x'.repeat(1 << 20));
    fs.copyFileSync(a, b);
    await fs.promises.rename(b, a + '2');
    fs.chmodSync(a, 0o600);
    fs.cpSync(a, b);
    fs.utimesSync(b, 1, 1);
    fs.symlinkSync('a', path.join(tmp, 'link'));
    assert.equal(fs.readdirSync(tmp).length >= 4, true);
    fs.rmSync(a);
  },
  async watch() {
    const watcher = fs.watch(tmp);
    const changed = until(watcher, 'change');
    fs.writeFileSync(path.join(tmp, 'watched'), 'x');
    await changed;
    watcher.close();
  },
  literalTmp() {
    fs.writeFileSync('/tmp/literal', 'x');
  },
  async childNode() {
    assert.equal(execFileSync(process.execPath, ['-e', 'console.log(6 * 7)'], { encoding: 'utf8' }), '42\n');
    assert.equal(spawnSync(process.execPath, ['-e', 'process.exit(3)']).status, 3);
  },
  async worker() {
    const worker = new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true });
    await until(worker, 'message');
    await worker.terminate();
  },
  crypto() {
    crypto.scryptSync('a', 'b', 32);
    crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' });
    assert.equal(crypto.randomUUID().length, 36);
  },
  zlib() {
    assert.equal(String(zlib.brotliDecompressSync(zlib.brotliCompressSync('x'))), 'x');
    assert.equal(String(zlib.gunzipSync(zlib.gzipSync('x'))), 'x');
  },
  async wasm() {
    const empty = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
    await WebAssembly.instantiate(empty);
    new WebAssembly.Memory({ initial: 1, maximum: 100 });
  },
  intl() {
    assert.equal(new Intl.NumberFormat('de').format(1234.5), '1.234,5');
    assert.equal(new Date(0).toLocaleTimeString('en-GB', { timeZone: 'Asia/Tokyo' }), '09:00:00');
  },
  os() {
    os.cpus();
    os.freemem();
    os.hostname();
    assert.equal(os.availableParallelism() >= 1, true);
    assert.equal(typeof os.userInfo().username, 'string');
  },
  async esm() {
    await import('data:text/javascript,export default 1');
  },
  gc() {
    let kept = [];
    for (let i = 0; i < 200; i++) kept = [...kept.slice(-20), new Array(20000).fill(i)];
  },
  async streams() {
    await new Promise((resolve) => process.stderr.write('x'.repeat(300000), resolve));
  },
  async noNetwork() {
    for (const act of [
      () => until(net.connect(9, '127.0.0.1'), 'connect'),
      () => until(http.get('http://127.0.0.1:9'), 'response'),
      () => new Promise((resolve, reject) => dgram.createSocket('udp4').on('error', reject).bind(0, '192.0.2.1', resolve)),
    ]) {
      await assert.rejects(async () => act());
    }
  },
};

const said = {};
for (const [name, item] of Object.entries(items)) {
  try {
    await item();
    said[name] = 'ok';
  } catch (error) {
    said[name] = `${error.code ?? ''} ${error.message}`;
  }
}
console.log(JSON.stringify({ node: process.version, said }));
process.exit(0);
