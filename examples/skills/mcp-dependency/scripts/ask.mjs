// Asks the server `clock` for the time in the zone given as the first argument.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
const places = [
  path.join(here, '../node_modules/mcporter/dist/cli.js'),
  path.join(path.dirname(process.execPath), '../lib/node_modules/mcporter/dist/cli.js'),
];
const mcporter = process.env.MCPORTER ?? places.find(existsSync);
if (!mcporter) {
  console.error(`mcporter is in none of ${places.join(', ')}: npm install -g mcporter@0.12.3`);
  process.exit(1);
}

const zone = process.argv[2] ?? 'UTC';
const answer = execFileSync(process.execPath, [mcporter, 'call', 'clock.now', '--json', '-', '--output', 'json', '--timeout', '20000'], {
  input: JSON.stringify({ zone }),
  encoding: 'utf8',
  env: { ...process.env, CLOCK_NODE: process.execPath, CLOCK_SERVER: path.join(here, 'clock.mjs') },
});
console.log(`${zone}: ${JSON.parse(answer).content[0].text}`);
