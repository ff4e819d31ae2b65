/**
 * tap reporter: a line a file, the failures with their difference, then every skip with the predicate it names, and
 * one last line `N passed, N failed, N skipped`. Counted are the tests of each file; a file that crashes or times out
 * counts as one failed.
 */
import { Transform } from 'node:stream'
import { Parser } from 'tap-parser'

export default class Summary extends Transform {
  #parser = new Parser()
  #failing = new Set()
  #skips = []
  #counts = { passed: 0, failed: 0, skipped: 0 }

  constructor() {
    super()
    this.#follow(this.#parser, [])
  }

  #follow(parser, path) {
    parser.on('child', child => this.#follow(child, [...path, child.name]))
    parser.on('assert', result => {
      if (path.length === 0) this.#file(result)
      else this.#assertion(result, path)
    })
  }

  #file(result) {
    const bad = !result.ok && !result.todo && !result.skip
    this.push(`${bad ? 'FAIL' : 'ok  '} ${result.name}\n`)
    if (bad && !this.#failing.has(result.name)) {
      this.#counts.failed++
      this.push(`     ${JSON.stringify(result.diag ?? {}).slice(0, 2_000)}\n`)
    }
  }

  #assertion(result, path) {
    const bad = !result.ok && !result.todo && !result.skip
    if (path.length === 1) {
      if (bad) this.#counts.failed++
      else if (result.skip || result.todo) this.#skip(result, path)
      else this.#counts.passed++
    }
    if (!bad) return
    this.#failing.add(path[0])
    const { diff, found, wanted, stack } = result.diag ?? {}
    const facts =
      diff ?? (found === undefined && wanted === undefined ? '' : `found ${show(found)}, wanted ${show(wanted)}\n`)
    this.push(
      `FAIL ${[...path, result.name].join(' > ')}\n${facts ?? ''}${stack ? `  at ${stack.split('\n')[0]}\n` : ''}`,
    )
  }

  #skip(result, path) {
    this.#counts.skipped++
    const reason = typeof result.skip === 'string' ? result.skip : 'no reason given'
    this.#skips.push(`skipped: ${path[0]} > ${result.name}: ${reason}`)
  }

  _transform(chunk, _encoding, done) {
    this.#parser.write(chunk)
    done()
  }

  _flush(done) {
    this.#parser.end()
    const { passed, failed, skipped } = this.#counts
    this.push(
      `\n${this.#skips.map(line => `${line}\n`).join('')}\n${passed} passed, ${failed} failed, ${skipped} skipped\n`,
    )
    done()
  }
}

function show(value) {
  return JSON.stringify(value)?.slice(0, 500)
}
