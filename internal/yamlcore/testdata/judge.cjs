// Reads a JSON list of YAML texts from stdin and writes, for each, what the npm
// package yaml (YAML 1.2, core schema, strict, unique keys) makes of it:
// {"json": "..."} or {"error": "CODE at line:column"}. A warning counts as an
// error. With the argument "lines" it does so text by text. The package is found
// through NODE_PATH.
const YAML = require('yaml')
const opts = { version: '1.2', schema: 'core', strict: true, uniqueKeys: true, logLevel: 'silent' }

function judge(text) {
  let docs
  try {
    docs = YAML.parseAllDocuments(text, opts)
  } catch (e) {
    return { error: 'THROWN ' + e.message }
  }
  if (docs.length === 0) return { json: 'null' }
  if (docs.length > 1) return { error: 'MULTIPLE_DOCS' }
  const bad = [...docs[0].errors, ...docs[0].warnings][0]
  if (bad) return { error: bad.code + ' at ' + (bad.linePos ? bad.linePos[0].line + ':' + bad.linePos[0].col : '?') }
  try {
    return { json: JSON.stringify(docs[0].toJS({ maxAliasCount: -1 })) ?? 'null' }
  } catch (e) {
    return { error: 'THROWN ' + e.message }
  }
}

process.removeAllListeners('warning')
process.on('warning', () => {})
if (process.argv[2] === 'lines') {
  // One JSON text a line in, one verdict a line out, until the input ends.
  require('readline').createInterface({ input: process.stdin })
    .on('line', (line) => process.stdout.write(JSON.stringify(judge(JSON.parse(line))) + '\n'))
} else {
  const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'))
  process.stdout.write(JSON.stringify(texts.map(judge)))
}
