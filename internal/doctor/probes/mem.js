// Uses memory until something stops it. Argument: JSON {mode, bytes}. Modes:
// none, buffers, heap, child, shm, wasm, workers, and shm-buffers and shm-child,
// which fill /dev/shm first. A line before the end shows that the run was alive.
'use strict';
const a = JSON.parse(process.argv[2] || '{}');
const step = 4 << 20;
process.stdout.write(JSON.stringify({ probe: 'mem', mode: a.mode }) + '\n', () => {
  const keep = [];
  let mode = a.mode || '';
  if (mode.startsWith('shm-')) {
    mode = mode.slice(4);
    try { for (let n = 0; ; n++) require('fs').writeFileSync('/dev/shm/fill' + n, Buffer.alloc(1 << 20, 1)); } catch {}
  }
  switch (mode) {
    case 'buffers': for (;;) keep.push(Buffer.alloc(step, 1)); // eslint-disable-line no-fallthrough
    case 'heap': for (;;) keep.push(new Array(1000).fill(0).map((_, i) => ({ i }))); // eslint-disable-line no-fallthrough
    case 'child': {
      const r = require('child_process').spawnSync(process.execPath, ['-e', `const k=[];for(;;)k.push(Buffer.alloc(${step},1))`]);
      console.log(JSON.stringify({ child: r.signal || r.status }));
      process.exit(0);
      break;
    }
    case 'shm': {
      const fs = require('fs');
      try { for (let n = 0; ; n++) fs.writeFileSync('/dev/shm/fill' + n, Buffer.alloc(step, 1)); } catch (e) { console.log(JSON.stringify({ stopped: e.code })); }
      break;
    }
    case 'wasm': {
      const m = new WebAssembly.Memory({ initial: 1, maximum: 65536 });
      try { for (;;) { m.grow(256); new Uint8Array(m.buffer).fill(1); } } catch (e) { console.log(JSON.stringify({ stopped: String(e) })); }
      break;
    }
    case 'workers': {
      const { Worker } = require('worker_threads');
      for (let i = 0; i < 4; i++) new Worker('const k=[];for(;;)k.push(Buffer.alloc(1<<22,1))', { eval: true }).on('error', e => console.log(String(e)));
      break;
    }
    default: keep.push(Buffer.alloc(a.bytes || step, 1)); console.log(JSON.stringify({ held: keep.length }));
  }
});
