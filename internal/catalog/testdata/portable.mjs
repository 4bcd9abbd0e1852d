// Reads a JSON list of skill directories from stdin and writes, for each, the
// list of what the npm package skills-ref (a folder given as argument) finds
// wrong with it; an empty list means that it is a valid Agent Skill.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const { validate } = await import(pathToFileURL(process.argv[2] + '/dist/index.js'))
const out = []
for (const dir of JSON.parse(readFileSync(0, 'utf8'))) out.push(await validate(dir))
process.stdout.write(JSON.stringify(out))
