// Changes files where a run may and where it must not. Argument: JSON with the
// paths of the machine. One JSON line: acts, each "ok" or an errno.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');

const a = JSON.parse(process.argv[2] || '{}');
const attempt = f => { try { f(); return 'ok'; } catch (e) { return e.code || String(e); } };
const acts = {};
const mine = name => path.join(os.tmpdir(), name);
fs.writeFileSync(mine('source'), 'x');

// In a place: make, shorten, move in, link, and take away again.
const place = (name, dir) => {
  if (!dir) return;
  const f = path.join(dir, 'probe-' + process.pid);
  acts['create ' + name] = attempt(() => fs.writeFileSync(f, 'x', { flag: 'wx' }));
  acts['truncate ' + name] = acts['create ' + name] === 'ok' ? attempt(() => fs.truncateSync(f)) : acts['create ' + name];
  acts['mkdir ' + name] = attempt(() => { fs.mkdirSync(f + '.d'); fs.rmdirSync(f + '.d'); });
  acts['symlink ' + name] = attempt(() => { fs.symlinkSync('/etc/passwd', f + '.s'); fs.unlinkSync(f + '.s'); });
  acts['link ' + name] = attempt(() => { fs.linkSync(mine('source'), f + '.l'); fs.unlinkSync(f + '.l'); });
  acts['rename-into ' + name] = attempt(() => { fs.writeFileSync(mine('moving'), 'x'); fs.renameSync(mine('moving'), f + '.m'); fs.unlinkSync(f + '.m'); });
  attempt(() => fs.unlinkSync(f));
};
place('tmpdir', os.tmpdir());
place('shm', '/dev/shm');
place('slash-tmp', '/tmp');
place('data', a.data);
place('bundle', path.join(__dirname, '..'));
place('outside', a.shared);
if (a.system) place('root', '/');
if (a.system) place('etc', '/etc');

// A file of somebody else, by its path.
if (a.outside) {
  acts['overwrite outside-file'] = attempt(() => fs.closeSync(fs.openSync(a.outside, 'r+')));
  acts['truncate outside-file'] = attempt(() => fs.truncateSync(a.outside));
  acts['unlink outside-file'] = attempt(() => fs.unlinkSync(a.outside));
  acts['chmod outside-file'] = attempt(() => fs.chmodSync(a.outside, 0o777));
  acts['chown outside-file'] = attempt(() => fs.chownSync(a.outside, process.getuid(), process.getgid()));
  acts['utimes outside-file'] = attempt(() => fs.utimesSync(a.outside, 1, 1));
  acts['rename-out outside-file'] = attempt(() => fs.renameSync(a.outside, mine('stolen')));
  acts['link outside-file'] = attempt(() => fs.linkSync(a.outside, mine('linked')));
}
acts['chmod bundle-file'] = attempt(() => fs.chmodSync(__filename, 0o777));
acts['utimes bundle-file'] = attempt(() => fs.utimesSync(__filename, 1, 1));
acts['overwrite bundle-file'] = attempt(() => fs.closeSync(fs.openSync(__filename, 'r+')));
acts['overwrite interpreter'] = attempt(() => fs.closeSync(fs.openSync(process.execPath, 'r+')));
acts['chmod tmpdir-file'] = attempt(() => fs.chmodSync(mine('source'), 0o600));
acts['rename-across tmpdir'] = attempt(() => { fs.mkdirSync(mine('a')); fs.mkdirSync(mine('b')); fs.writeFileSync(mine('a/x'), ''); fs.renameSync(mine('a/x'), mine('b/x')); });

// How much fits into the private places.
const fill = (dir, bytes) => attempt(() => {
  const made = [];
  try {
    for (let n = 0; n < bytes; n += 1 << 20) { const f = path.join(dir, 'fill' + n); made.push(f); fs.writeFileSync(f, Buffer.alloc(1 << 20, 1)); }
  } finally { made.forEach(f => attempt(() => fs.unlinkSync(f))); }
});
if (a.fill) { acts['fill tmpdir'] = fill(os.tmpdir(), a.fill); acts['fill-some tmpdir'] = fill(os.tmpdir(), 2 << 20); }
if (a.leave) fs.writeFileSync('/tmp/' + a.leave, 'x');
console.log(JSON.stringify({ probe: 'fs-write', acts, tmpdir: os.tmpdir() }));
