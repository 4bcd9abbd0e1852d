// Burns processor time or stays. Argument: JSON {mode, ms}. Modes: busy, four
// (busy children), sleep, stubborn (ignores SIGTERM and SIGXCPU), threads and
// forks (start more and more until refused). A first line shows it was alive.
'use strict';
const a = JSON.parse(process.argv[2] || '{}');
const burn = ms => { const end = Date.now() + ms; while (Date.now() < end); };
process.stdout.write(JSON.stringify({ probe: 'cpu', mode: a.mode }) + '\n', () => {
  switch (a.mode) {
    case 'busy': burn(a.ms || 1000); break;
    case 'four': {
      const { spawn } = require('child_process');
      for (let i = 0; i < 4; i++) spawn(process.execPath, ['-e', `const e=Date.now()+${a.ms || 1000};while(Date.now()<e);`]);
      break;
    }
    case 'stubborn':
      process.on('SIGTERM', () => {});
      process.on('SIGXCPU', () => {});
      setInterval(() => {}, 1000);
      break;
    case 'threads': {
      const { Worker } = require('worker_threads');
      let n = 0;
      const next = () => {
        const end = e => { console.log(JSON.stringify({ started: n, stopped: e.code || String(e) })); process.exit(0); };
        let w;
        try { w = new Worker('setInterval(()=>{},1000)', { eval: true }); } catch (e) { return end(e); }
        w.on('error', end);
        w.on('online', () => { n++; if (n >= (a.most || 200)) end({ code: 'ENONE' }); else next(); });
      };
      next();
      break;
    }
    case 'forks': {
      const { spawn } = require('child_process');
      let n = 0;
      const next = () => {
        const c = spawn(process.execPath, ['-e', 'setInterval(()=>{},1000)'], { stdio: 'ignore' });
        c.on('error', e => { console.log(JSON.stringify({ started: n, stopped: e.code })); process.exit(0); });
        c.on('spawn', () => { n++; if (n >= (a.most || 200)) { console.log(JSON.stringify({ started: n, stopped: 'ENONE' })); process.exit(0); } next(); });
      };
      next();
      break;
    }
    default: setInterval(() => {}, 1000);
  }
});
