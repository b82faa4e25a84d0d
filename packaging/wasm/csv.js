// What the command works out about an input before it cuts: the dialect, the header, warnings and faults, for cli.js
// and the page. The dialect is sniffed by the library itself, in cleave_settle.wasm; see settle.cpp.
import {load, CHUNK, RECORD_START, RETURN, AFTER_QUOTE, ESCAPE, ESCAPE_IN_QUOTES, IN_QUOTES} from './scan.js';

const SNIFFED = 65536;
const LONGEST_PREAMBLE = 16 << 20;
const json = dialect => `; ${dialect}--dialect jsonl reads`;
const DOUBTS = [null, ...[['NUL (\\x00)', '0'], ['\\x1e', '036'], ['\\x1f', '037']].map(([name, octal]) =>
  `records seem to end with ${name}, which is not a record terminator for cleave; convert it first: ` +
  `tr '\\${octal}' '\\n'`),
'this looks like JSON Lines, not CSV; --dialect jsonl reads it',
`this looks like a JSON array, not CSV${json("jq -c '.[]' makes lines of it, which ")}`,
`this looks like JSON, not CSV${json('jq -c . makes lines of it, which ')}`,
"backslashes seem to escape quotes; see --escape '\\'", 'quotes seem to be plain data; see --no-quote',
'there are quotes, but no known delimiter before and after them; name it with --delimiter'];

/** A failure with the exit status of the command. */
export class Failure extends Error {
  constructor(status, message, isOfInput = status === 3) { super(message), Object.assign(this, {status, isOfInput}); }
}

const isPast = state => state === RECORD_START || state === RETURN;
const isQuoted = state => state === IN_QUOTES || state === ESCAPE_IN_QUOTES;
const isEscape = state => state === ESCAPE || state === ESCAPE_IN_QUOTES;
/** Whether both quote modes find the same records up to the next quote that is out of place. */
const agree = (one, other) => [isPast, isQuoted, isEscape].every(is => is(one) === is(other));

/** The functions, from the bytes of cleave_scan.wasm and cleave_settle.wasm. */
export async function tools(scanWasm, settleWasm) {
  const api = await load(scanWasm);
  const module = await WebAssembly.compile(settleWasm);

  /** A new instance for each call, so that nothing need be freed. */
  async function settler() {
    const text = (memory, at) => {
      const bytes = new Uint8Array(memory.buffer);
      return new TextDecoder().decode(bytes.slice(at, bytes.indexOf(0, at)));
    };
    const fail = at => { throw new Failure(2, text(calls.memory, at)); };
    const {exports: calls} = await WebAssembly.instantiate(module, {cleave: {fail}, wasi_snapshot_preview1: {
      fd_close: () => 8, fd_seek: () => 8, fd_write: () => 8}});
    calls._initialize?.();
    const put = bytes => {
      const at = calls.allocate(bytes.length + 1);
      new Uint8Array(calls.memory.buffer).set(bytes, at);
      new Uint8Array(calls.memory.buffer)[at + bytes.length] = 0;
      return at;
    };
    const given = (wanted, none) => put(new Uint8Array(Int32Array.from([
      ...['delimiter', 'quote', 'escape', 'terminator', 'quoting', 'scope'].map(
        name => wanted[name] === undefined ? none : wanted[name] ?? -1), wanted.skipLines ?? 0]).buffer));
    return {calls, put, given, text: at => text(calls.memory, at)};
  }

  async function settle(source, name, wanted) {
    const encoded = text => new TextEncoder().encode(text ?? '');
    for (let size = SNIFFED, isLast = false; ; size *= 2) {
      const head = await source.read(0, Math.min(size, source.size));
      const {calls, put, given, text} = await settler();
      const at = calls.settle(given(wanted, -2), put(encoded(wanted.preset)), put(encoded(wanted.comment)), put(head),
        head.length, head.length < size, put(encoded(name.replace(/\.gz$/, ''))));
      const found = text(at);
      if (found !== '') {
        const answer = JSON.parse(found);
        if (answer.preamble > 0 && head.length === size && !isLast) {
          [size, isLast] = [(answer.preamble + SNIFFED) / 2, true];
          continue;
        }
        return answer;
      }
      if (head.length < size || size >= LONGEST_PREAMBLE)
        throw new Failure(3, `the lines before the header do not end within the first ${head.length} bytes`);
    }
  }

  /** The values of a record's fields, as bytes. */
  async function values(record, dialect) {
    const {calls, put, given} = await settler();
    const at = calls.values(given(dialect, -1), put(record), record.length);
    const view = new DataView(calls.memory.buffer, at);
    const found = [];
    for (let i = 0, size; (size = view.getUint32(i, true)) !== 0xFFFFFFFF; i += 4 + size) {
      found.push(new Uint8Array(calls.memory.buffer, at + i + 4, size).slice());
    }
    return found;
  }

  /** Where the first byte other than CR and LF is, after a preamble or a byte order mark; null if there is none. */
  async function content(source, preamble) {
    const mark = await source.read(0, Math.min(3, source.size));
    let at = preamble || (mark.length === 3 && mark[0] === 0xEF && mark[1] === 0xBB && mark[2] === 0xBF ? 3 : 0);
    for (; at < source.size; at += CHUNK) {
      const bytes = await source.read(at, Math.min(at + CHUNK, source.size));
      const found = bytes.findIndex(byte => byte !== 10 && byte !== 13);
      if (found >= 0) return at + found;
    }
    return null;
  }

  /** What a source is. `wanted`: parts of a dialect, and `preset`, `comment`, `skipLines`; `header`: the mode. */
  async function describe(source, name, wanted = {}, header = 'repeat') {
    const settled = await settle(source, name, wanted);
    const {foreign} = settled;
    if (foreign?.startsWith('UTF-16')) throw new Failure(3, `${foreign}; --encoding is not in cleave-csv`);
    if (foreign) throw new Failure(3, `${foreign}, not CSV`);
    const {delimiter, quote = null, escape = null, terminator, quoting, scope, preamble} = settled;
    const dialect = {delimiter, quote, escape, terminator, quoting, scope};
    const begin = preamble > 0 ? {...api.begin(dialect), state: RECORD_START, offset: preamble} : api.begin(dialect);
    const mode = settled.header === 2 ? 'none' : header;
    const reader = api.reader(source, begin);
    if (mode !== 'none') {
      const at = settled.header === 1 ? preamble : await content(source, preamble);
      await reader.toOffset(at === null ? 0 : at + 1);
      await reader.toStart(at === null ? 1 : 0);
    }
    const warnings = settled.doubt ? [DOUBTS[settled.doubt]] : [];
    const {lines, returns} = settled;
    if (lines > 0) {
      const [what, them, they] =
        lines === 1 ? ['line has', 'it', 'it is'] : [`${lines} lines have`, 'them', 'they are'];
      warnings.push(`the first ${what} far fewer fields than the records after ${them}; if ${they} not data, use ` +
        `--skip-lines ${lines}`);
    }
    if (returns > 0) {
      const are = returns === 1 ? '1 CR outside quotes is' : `${returns} CRs outside quotes are`;
      warnings.push(`in the first 64 KiB, ${are} not followed by an LF, the first at byte ${settled.firstReturn}; try ` +
        '--terminator any');
    }
    return {source, dialect, mode, begin, body: reader.mark(), headerRecords: reader.index, settled, warnings};
  }

  /** From where both modes agreed, byte by byte: where they come apart before they start different records. */
  function parting(bytes, own, other, index, parted) {
    const step = (state, at) => (api.putBytes(bytes.subarray(at, at + 1)), api.startsAt(0, 1, state, 1));
    for (let at = 0; at < bytes.length; ++at) {
      const [one, two] = [step(own, at), step(other, at)];
      if (one.found !== two.found) break;
      [own, other, index] = [one.state, two.state, index + one.found];
      const offset = own.offset - 1;
      parted = agree(own.state, other.state) ? null : parted ?? {offset, index: index - 1};
    }
    return parted;
  }

  /** One pass: how many records there are, the quote that is never closed, and where the quote modes first differ. */
  async function survey({source, dialect, begin}) {
    const reader = api.reader(source, begin);
    const otherOf = state => ({...state, dialect: {...dialect, quoting: 1 - dialect.quoting}});
    let other = dialect.quote !== null ? otherOf(begin) : null;
    let [parted, divergence] = [null, null];
    while (await reader.fill() > 0) {
      const same = other?.state === reader.state.state && other?.state !== AFTER_QUOTE;
      if (other === null || (same && !reader.bytes.includes(dialect.quote))) {
        reader.pass();
        other &&= otherOf(reader.state);
      } else {
        ({other, parted, divergence} = compare(reader, other, parted));
      }
    }
    const {openQuote, ending} = api.end(reader.state);
    const open = openQuote === null ? null : {offset: openQuote, index: reader.index - 1};
    return {records: reader.index, size: source.size, open, divergence, ending};
  }

  /** The same for what the reader has read, as long as the modes start the same records. */
  function compare(reader, other, parted) {
    let from = {own: reader.state, other, index: reader.index};  // where the modes last agreed, or came in
    while (reader.offset < reader.end) {
      const [place, size] = [reader.offset - reader.begin, reader.end - reader.offset];
      reader.show();
      const one = api.startsAt(place, size, reader.state, api.room, 0);
      const two = api.startsAt(place, size, other, api.room, 1);
      const [a, b] = [api.startWords(one.found, 0), api.startWords(two.found, 1)];
      let common = 0;
      while (common < a.length && common < b.length && a[common] === b[common]) ++common;
      common >>= 1;
      if (common > 0) {
        const offset = (a[2 * common - 1] >>> 0) * 2 ** 32 + (a[2 * common - 2] >>> 0);
        const own = {...reader.state, state: RECORD_START, offset, openQuote: null};
        [from, parted] = [{own, other: {...own, dialect: other.dialect}, index: reader.index + common - 1}, null];
      }
      const isSame = common === one.found && common === two.found && one.state.offset === two.state.offset;
      [reader.state, other] = [one.state, two.state];
      reader.index += one.found;
      if (!isSame) {
        const rest = reader.bytes.slice(from.own.offset - reader.begin);
        return {other: null, parted: null, divergence: parting(rest, from.own, from.other, from.index, parted)};
      }
    }
    if (agree(reader.state.state, other.state)) return {other, parted: null, divergence: null};
    const rest = reader.bytes.slice(from.own.offset - reader.begin);
    return {other, parted: parting(rest, from.own, from.other, from.index, parted), divergence: null};
  }

  /** "(byte 5, line 2, record 1)"; without the line if the source cannot be read again. */
  async function place({source, dialect, headerRecords}, {offset, index}, hasLine = true) {
    let line = 1;
    for (let at = 0, before = 0; hasLine && at < offset; at += CHUNK) {
      for (const byte of await source.read(at, Math.min(offset, at + CHUNK))) {
        if (byte === 10 ? dialect.terminator !== 1 && before !== 13 : byte === 13 && dialect.terminator !== 0) ++line;
        before = dialect.terminator === 2 ? byte : 0;
      }
    }
    const record = index < headerRecords ? 'in the header' : `record ${index - headerRecords + 1}`;
    return `(byte ${offset}, ${hasLine ? `line ${line}, ` : ''}${record})`;
  }

  /** The pieces of a described source, with `oversize` set for a record that does not fit. */
  async function* pieces(facts, limits, records) {
    const {source, body, mode, headerRecords} = facts;
    const header = body.state.offset;
    const before = number => mode === 'drop' || (mode === 'first' && number > 1) ? 0 : header;
    if (limits.bytes && before(2) > limits.bytes) {
      const what = mode === 'none' ? `${header} bytes before the records do` : `header of ${header} bytes does`;
      throw new Failure(2, `the ${what} not fit into a piece of ${limits.bytes} bytes; use -C ${header + 1} or more` +
        (mode === 'none' ? '' : ', or drop the header with --header drop'), true);
    }
    if (limits.pieces > Math.max(records, 65536)) {
      throw new Failure(2, `${limits.pieces} pieces are too many for ${records} records; the most is ` +
        `${Math.max(records, 65536)}`, true);
    }
    if (!limits.pieces && header === source.size && before(1) > 0)
      yield {number: 1, start: header, end: header, first: 1, records: 0};
    const from = mode === 'first' ? 0 : header;
    for await (const piece of api.split(source, {...limits, begin: body.state, before, from})) {
      piece.oversize = piece.end - piece.start > Math.max(0, (limits.bytes ?? Infinity) - before(piece.number));
      yield piece;
    }
  }
  return {api, describe, survey, values, place, pieces, prefix: ({body, mode}, number) =>
    mode === 'drop' || (mode === 'first' && number > 1) ? 0 : body.state.offset};
}
