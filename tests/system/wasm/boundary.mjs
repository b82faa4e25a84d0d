// Proves the functions of scan.js against a state machine that shares no code with them.
//
//   node boundary.mjs FOLDER LENGTH [SECONDS]    FOLDER holds scan.js and cleave_scan.wasm
//
// Every string of at most LENGTH bytes over a quote, a delimiter, LF, CR, an escape and a letter, in every dialect, is cut
// into one, two and, up to five bytes, three parts; then random ones, for that many seconds, are cut into pieces.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const [folder, length, seconds = '2'] = process.argv.slice(2);
const {load, CHUNK} = await import(pathToFileURL(path.resolve(folder, 'scan.js')));
const api = await load(fs.readFileSync(path.join(folder, 'cleave_scan.wasm')));
const [QUOTE, DELIMITER, LF, CR, ESCAPE, LETTER] = [34, 44, 10, 13, 92, 120];
const ALPHABET = [QUOTE, DELIMITER, LF, CR, ESCAPE, LETTER];

const dialects = [];
for (const terminator of [0, 1, 2]) {
  for (const quoting of [0, 1]) {
    for (const [escape, scope] of [[null, 0], [ESCAPE, 0], [ESCAPE, 1]]) {
      dialects.push({delimiter: DELIMITER, quote: QUOTE, escape, terminator, quoting, scope});
    }
  }
  for (const escape of [null, ESCAPE]) dialects.push({delimiter: DELIMITER, quote: null, escape, terminator, quoting: 0, scope: 0});
}

/** The definition: the table of cleave-dialects(7). */
function reference(bytes, {delimiter, quote, escape, terminator, quoting, scope}) {
  const starts = [];
  let [state, records, last, open] = ['record', 0, null, null];
  bytes.forEach((byte, i) => {
    if (state === 'return') {
      ++records;
      last = byte === LF ? i + 1 : i;
      state = 'record';
      if (byte === LF) return;
    }
    if (state === 'record') starts.push(i);
    const isEscape = byte === escape && (scope === 0 || state === 'quoted');
    const ends = (terminator !== 1 && byte === LF) || (terminator !== 0 && byte === CR);
    if (state === 'escaped') state = 'field';
    else if (state === 'quoted escaped') state = 'quoted';
    else if (state === 'quoted') state = isEscape ? 'quoted escaped' : byte === quote ? 'closed' : 'quoted';
    else if (state === 'closed' && byte === quote) state = 'quoted';
    else if (ends && terminator === 2 && byte === CR) state = 'return';
    else if (ends) [state, records, last] = ['record', records + 1, i + 1];
    else if (byte === delimiter) state = 'start';
    else if (byte === quote && (quoting === 1 || state !== 'field')) [state, open] = ['quoted', i];
    else state = isEscape && !(state === 'closed' && quoting === 0) ? 'escaped' : 'field';
  });
  const isOpen = state.startsWith('quoted');
  const isUnended = !['record', 'return'].includes(state) && bytes.length > 0;
  return {
    starts, records, last, openQuote: isOpen ? open : null,
    ending: (isUnended ? 1 : 0) + (state === 'return' ? 2 : 0) + (isOpen ? 4 : 0) + (state.endsWith('escaped') ? 8 : 0),
    all: starts.length,
  };
}

function inParts(bytes, cuts, dialect) {
  const bounds = [0, ...cuts, bytes.length];
  let [state, reader, counts, starts] = [api.begin(dialect), api.begin(dialect), [], []];
  const summaries = [];
  for (let i = 0; i + 1 < bounds.length; ++i) {
    const part = bytes.subarray(bounds[i], bounds[i + 1]);
    counts.push(api.scan(part, state));
    state = counts.at(-1).state;
    const some = api.starts(part, reader, i % 2 ? 1 : Infinity);
    const more = some.state.offset < bounds[i + 1] ? api.starts(part.subarray(some.state.offset - bounds[i]), some.state) : null;
    starts.push(...some.starts, ...(more?.starts ?? []));
    reader = (more ?? some).state;
    summaries.push(api.summarise(part, bounds[i], dialect));
  }
  assert.deepEqual(reader, state);
  const last = counts.at(-1);
  const lasts = counts.map(each => each.last).filter(each => each !== null);
  const found = {starts, records: counts.reduce((sum, each) => sum + each.records, 0), last: lasts.at(-1) ?? null,
    openQuote: last.openQuote, ending: last.ending};
  const end = api.end(state);
  found.all = found.records + end.records;
  const left = summaries.reduce((a, b) => api.compose(a, b));
  const right = summaries.reduceRight((b, a) => api.compose(a, b));
  assert.deepEqual(left, right);
  const {state: after, records, first} = api.resolve(left, api.begin(dialect));
  assert.deepEqual(after, state);
  assert.equal(records, starts.length);
  assert.equal(first, starts[0] ?? null);
  return found;
}

let count = 0;
function prove(bytes) {
  for (const dialect of dialects) {
    const wanted = reference(bytes, dialect);
    const try_ = (...cuts) => {
      assert.deepEqual(inParts(bytes, cuts, dialect), wanted, JSON.stringify({bytes: [...bytes], cuts, dialect}));
      ++count;
    };
    try_();
    if (bytes.length > 5) {
      try_(1 + count % (bytes.length - 1));
      continue;
    }
    for (let one = 0; one <= bytes.length; ++one) {
      try_(one);
      for (let two = one; two <= bytes.length; ++two) try_(one, two);
    }
  }
}
for (let size = 0; size <= Number(length); ++size) {
  const bytes = new Uint8Array(size).fill(ALPHABET[0]);
  for (const digits = new Array(size).fill(0); ;) {
    prove(bytes);
    let i = 0;
    for (; i < size && ++digits[i] === ALPHABET.length; ++i) [digits[i], bytes[i]] = [0, ALPHABET[0]];
    if (i === size) break;
    bytes[i] = ALPHABET[digits[i]];
  }
}
console.log(`${count} cuts of strings of at most ${length} bytes in ${dialects.length} dialects`);

/** The pieces by the definition of -n, -l and -C; see plan.cpp. */
function piecesOf(size, starts, {pieces, records = Infinity, bytes = Infinity, before = 0}) {
  const cuts = [0];
  if (pieces) {
    for (let k = 1; k < pieces; ++k) cuts.push(starts.find(start => start >= Math.floor(size * k / pieces)) ?? size);
    cuts.push(size);
  } else {
    while (cuts.at(-1) < size) {
      const first = starts.indexOf(cuts.at(-1));
      const ends = [...starts.slice(first + 1, first + 1 + records), size].slice(0, records);
      cuts.push(ends.filter(end => end - cuts.at(-1) <= bytes - before).at(-1) ?? ends[0]);
    }
  }
  return cuts.slice(1).map((end, i) => ({number: i + 1, start: cuts[i], end}));
}
let seed = 7;
const random = below => { seed = (Math.imul(seed, 1103515245) + 12345) & 0x7FFFFFFF; return (seed >> 8) % below; };
let cut = 0;
for (const end = Date.now() + 1000 * Number(seconds); Date.now() < end; ++cut) {
  const bytes = Uint8Array.from({length: random(200)}, () => [...ALPHABET, LETTER, LETTER, LETTER, LF][random(10)]);
  const dialect = dialects[random(dialects.length)];
  const before = random(3);
  const limits = [{pieces: 1 + random(9)}, {records: 1 + random(5)}, {bytes: 3 + random(30), before},
    {bytes: 3 + random(30), records: 1 + random(4), before}][random(4)];
  const {starts} = reference(bytes, dialect);
  const source = {size: bytes.length, chunk: 1 + random(70), read: (begin, end) => bytes.subarray(begin, end)};
  const found = [];
  for await (const piece of api.split(source, {...limits, begin: api.begin(dialect)})) found.push(piece);
  const wanted = piecesOf(bytes.length, starts, limits).map(({number, start, end}) => ({number, start, end,
    first: starts.filter(each => each < start).length + 1, records: starts.filter(each => each >= start && each < end).length}));
  assert.deepEqual(found, wanted, JSON.stringify({bytes: [...bytes], dialect, limits, chunk: source.chunk}));
}
console.log(`${cut} random inputs cut into pieces`);

// Beyond 4 GB, and beyond what a chunk holds.
const far = {dialect: {}, state: 0, offset: 2 ** 40, openQuote: null};
assert.deepEqual(api.starts(Uint8Array.of(97, 10, 98), far).starts, [2 ** 40, 2 ** 40 + 2]);
assert.throws(() => api.scan(new Uint8Array(1), {...far, offset: 2 ** 60}), RangeError);
assert.equal(api.fault({quote: 44}) === null, false);
const own = api.buffer(5);
own.set([97, 10, 98, 10, 99]);
assert.deepEqual(api.starts(own.subarray(2), api.begin()).starts, [0, 2]);
assert.equal(api.scan(own.subarray(1), api.begin()).records, 2);
const big = new Uint8Array(3 * CHUNK).fill(10);
assert.equal(api.scan(big, api.begin()).records, big.length);
