// Writes in ways that break captures. Argument: JSON {mode, bytes}. Modes: some,
// flood, cut (a character across the cap), nul, stderr, exit (1 MB, then
// process.exit), invalid (bytes that are not UTF-8).
'use strict';
const a = JSON.parse(process.argv[2] || '{}');
const mib = 1 << 20;
const write = (stream, left) => {
  while (left > 0) {
    const n = Math.min(left, mib);
    left -= n;
    if (!stream.write(Buffer.alloc(n, 'x')) && left > 0) { stream.once('drain', () => write(stream, left)); return; }
  }
};
switch (a.mode) {
  case 'flood': { const more = () => { while (process.stdout.write(Buffer.alloc(mib, 'y'))); process.stdout.once('drain', more); }; more(); break; }
  case 'cut': process.stdout.write('a'.repeat(mib - 1) + '\u20ac'); break;
  case 'nul': process.stdout.write('a\0b'); break;
  case 'stderr': write(process.stderr, a.bytes || 3 * mib); break;
  case 'exit': console.log('z'.repeat(1e6)); process.exit(0); break; // fits the pipe, which is what can be promised
  case 'invalid': process.stdout.write(Buffer.from([0x61, 0xff, 0xfe, 0xe2, 0x82])); break;
  default: write(process.stdout, a.bytes || 3 * mib);
}
