// Where the records of CSV begin and end, exactly: the functions of cleave_scan.h, which is the manual, by WebAssembly,
// and split(), which says where the pieces of a source are. No boundary is decided here. Offsets are numbers; an input
// has fewer than 2^53 bytes. Types: scan.d.ts.

export const CHUNK = 1 << 20;  // bytes that are read at once
const ROOM = 1 << 13;  // record starts that are asked for at once
const [DIALECT, STATE, COUNTS, RANGE, SUMMARY, BOTH, OTHER] = [0, 8, 32, 64, 96, 568, 1040];
const STARTS = 1520;
const BYTES = STARTS + 2 * ROOM * 8;
export const [RECORD_START, FIELD, UNQUOTED, IN_QUOTES, AFTER_QUOTE, ESCAPE, ESCAPE_IN_QUOTES, RETURN, START] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8];
const isComplete = state => state === RECORD_START || state === START;

export class InputChanged extends Error {}

/** A `Blob`, a file handle of Node, bytes, or anything with `size` and `read(begin, end)`, as the latter. */
export async function sourceOf(input) {
  if (input instanceof Uint8Array) return {size: input.length, read: (begin, end) => input.subarray(begin, end)};
  if (typeof Blob !== 'undefined' && input instanceof Blob) {
    return {size: input.size, read: async (begin, end) => new Uint8Array(await input.slice(begin, end).arrayBuffer())};
  }
  if (typeof input.stat !== 'function') return input;
  return {
    size: (await input.stat()).size,
    async read(begin, end) {
      const bytes = new Uint8Array(end - begin);
      let size = 0;
      for (let got = 1; got > 0 && size < bytes.length; size += got) {
        got = (await input.read(bytes, size, bytes.length - size, begin + size)).bytesRead;
      }
      return bytes.subarray(0, size);
    },
  };
}

/** The functions, from the bytes of cleave_scan.wasm or a compiled module. */
export async function load(wasm) {
  const made = await WebAssembly.instantiate(wasm, {});
  const calls = (made.instance ?? made).exports;
  const {memory} = calls;
  const base = (calls.__heap_base.value + 15) & ~15;
  let view;
  let shown = null;  // the reader whose bytes are there

  function reserve(size) {
    const missing = base + BYTES + size - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65536));
    if (view?.buffer !== memory.buffer) view = new DataView(memory.buffer);
  }
  reserve(CHUNK);
  const long = at => {
    const value = view.getBigUint64(base + at, true);
    return value >= 0xFFFFFFFFFFFFFFFEn ? null : Number(value);
  };
  const putLong = (at, value) => view.setBigUint64(base + at, value === null ? ~0n : BigInt(value), true);
  const check = code => {
    if (code !== 0) throw new RangeError('the dialect, the state or the summary is not valid');
  };
  const put = (at, bytes) => new Uint8Array(memory.buffer, base + at, bytes.length).set(bytes);
  const summaryAt = at => new Uint8Array(memory.buffer, base + at, 472).slice();
  /** Copies bytes to where the functions read them, unless they are in buffer(). Returns their distance from BYTES. */
  function putBytes(bytes, reader = null) {
    if (bytes.buffer === memory.buffer) return bytes.byteOffset - base - BYTES;
    reserve(bytes.length);
    put(BYTES, bytes);
    shown = reader;
    return 0;
  }

  function putState({dialect, state, offset, openQuote}) {
    if (!Number.isSafeInteger(offset)) throw new RangeError('an offset must be below 2^53');
    putDialect(dialect);
    view.setUint32(base + STATE, 1, true);
    view.setUint32(base + STATE + 4, state, true);
    putLong(STATE + 8, offset);
    putLong(STATE + 16, openQuote);
  }
  function putDialect({delimiter = 44, quote = 34, escape = null, terminator = 0, quoting = 0, scope = 0}) {
    view.setInt16(base, quote ?? -1, true);
    view.setInt16(base + 2, escape ?? -1, true);
    [delimiter, terminator, quoting, scope].forEach((byte, i) => view.setUint8(base + 4 + i, byte));
  }
  const stateNow = dialect => ({
    dialect, state: view.getUint32(base + STATE + 4, true), offset: long(STATE + 8), openQuote: long(STATE + 16),
  });
  const countsNow = dialect => ({
    state: stateNow(dialect), records: long(COUNTS), last: long(COUNTS + 8), openQuote: long(COUNTS + 16),
    ending: long(COUNTS + 24),
  });

  function scanAt(place, size, state) {
    putState(state);
    check(calls.cleave_scan(base, base + STATE, base + BYTES + place, size, base + COUNTS));
    return countsNow(state.dialect);
  }
  /** At most `room` starts, or none that does not fit: where it stopped is in the state. `out` is 0 or 1. */
  function startsAt(place, size, state, room, out = 0) {
    putState(state);
    const found = calls.cleave_scan_starts(base, base + STATE, base + BYTES + place, size,
                                           base + STARTS + out * ROOM * 8, Math.min(room, ROOM)) >>> 0;
    if (found === 0xFFFFFFFF) check(2);
    return {found, state: stateNow(state.dialect)};
  }
  const startsFound = (found, out = 0) => new Float64Array(found).map((_, i) => long(STARTS + (out * ROOM + i) * 8));
  const startWords = (found, out) => new Int32Array(memory.buffer, base + STARTS + out * ROOM * 8, 2 * found);

  const api = {
    begin: (dialect = {}) => ({dialect, state: START, offset: 0, openQuote: null}),
    fault(dialect) {
      putDialect(dialect);
      const at = calls.cleave_scan_fault(base);
      const text = new Uint8Array(memory.buffer, at, at === 0 ? 0 : 100);
      return at === 0 ? null : new TextDecoder().decode(text.subarray(0, text.indexOf(0)));
    },
    buffer(size) {
      reserve(size);
      shown = null;
      return new Uint8Array(memory.buffer, base + BYTES, size);
    },
    scan(bytes, state) {
      return scanAt(putBytes(bytes), bytes.length, state);
    },
    end(state) {
      putState(state);
      check(calls.cleave_scan_end(base, base + STATE, base + COUNTS));
      return countsNow(state.dialect);
    },
    starts(bytes, state, room = Infinity) {
      const shift = putBytes(bytes) - state.offset;
      const end = state.offset + bytes.length;
      const all = [];
      for (let found = ROOM; found > 0 && all.length < room && state.offset < end;) {
        ({found, state} = startsAt(state.offset + shift, end - state.offset, state, room - all.length));
        all.push(...startsFound(found));
      }
      return {starts: all, state};
    },
    summarise(bytes, begin = 0, dialect = {}) {
      const place = putBytes(bytes);
      putDialect(dialect);
      check(calls.cleave_summarise(base, BigInt(begin), base + BYTES + place, bytes.length, base + SUMMARY));
      return summaryAt(SUMMARY);
    },
    compose(first, second) {
      put(SUMMARY, first);
      put(OTHER, second);
      check(calls.cleave_compose(base + SUMMARY, base + OTHER, base + BOTH));
      return summaryAt(BOTH);
    },
    resolve(summary, state) {
      putState(state);
      put(SUMMARY, summary);
      check(calls.cleave_resolve(base + SUMMARY, base + STATE, base + RANGE));
      const [records, first, last] = [long(RANGE), long(RANGE + 8), long(RANGE + 16)];
      return {state: stateNow(state.dialect), records, first, last};
    },
    reader: (source, state) => new Reader(source, state),
    split,
  };

  /** Goes through a source. `index`: how many records start before the next byte. */
  class Reader {
    constructor(source, state) {
      Object.assign(this, {source, state, index: 0, begin: 0, end: 0, bytes: null});
    }
    get offset() { return this.state.offset; }
    get isAtEnd() { return this.offset >= this.source.size; }
    /** Reads on if nothing is left of what was read. Returns how much is, or 0 at the end. */
    async fill() {
      if (this.isAtEnd) return 0;
      if (this.offset < this.begin || this.offset >= this.end) {
        const wanted = Math.min(this.source.size, this.offset + (this.source.chunk ?? CHUNK));
        const bytes = await this.source.read(this.offset, wanted);
        if (bytes.length !== wanted - this.offset) throw new InputChanged();
        [this.begin, this.end, this.bytes] = [this.offset, wanted, bytes];
        shown = shown === this ? null : shown;
      }
      return this.end - this.offset;
    }
    show() { if (shown !== this) putBytes(this.bytes, this); }
    /** Passes over what is there, up to `limit`; returns the counts. */
    pass(limit = Infinity) {
      this.show();
      const ended = this.index - (isComplete(this.state.state) ? 0 : 1);
      const size = Math.min(this.end, limit) - this.offset;
      const counts = scanAt(this.offset - this.begin, size, this.state);
      this.state = counts.state;
      this.index = ended + counts.records + (isComplete(this.state.state) ? 0 : 1);
      return counts;
    }
    /** Passes over `count` record starts, and up to the next one or the end of what is there. */
    skip(count) {
      this.show();
      const {found, state} = startsAt(this.offset - this.begin, this.end - this.offset, this.state, count);
      this.state = state;
      this.index += found;
      return found;
    }
    async toOffset(offset) {
      while (this.offset < offset && await this.fill() > 0) this.pass(offset);
    }
    /** To the record start that `count` others precede, from here on; or to the end. */
    async toStart(count = 0) {
      while (await this.fill() > 0) {
        const full = this.end;
        count -= this.skip(count);
        if (count === 0 && this.offset < full) return;
      }
    }
    goTo(mark) { [this.state, this.index] = [mark.state, mark.index]; }
    mark() { return {state: this.state, index: this.index}; }
    /** To the last record start up to `limit`, or to the next one if there is none. */
    async toLast(limit) {
      const from = this.mark();
      let last = null;
      const take = counts => {
        if (counts.last === null || counts.last <= from.state.offset || counts.last > limit) return;
        const behind = isComplete(counts.state.state) && counts.last === this.offset ? 0 : 1;
        const state = {dialect: this.state.dialect, state: RECORD_START, offset: counts.last, openQuote: null};
        last = {state, index: this.index - behind};
      };
      while (this.offset < limit && await this.fill() > 0) take(this.pass(limit));
      if (this.state.state === RETURN && await this.fill() > 0) take(this.pass(this.offset + 1));
      if (this.isAtEnd && this.offset <= limit) return;
      this.goTo(last ?? from);
      if (last === null) await this.toStart(1);
    }
  }

  /**
   * Yields the pieces, in order. `limits`: `pieces`, or `records` or `bytes` or both; `begin`: a state at which the
   * first piece starts; `before`: bytes that each piece has besides, or a function of its number; `from`: the byte at
   * which the shares of `pieces` begin.
   */
  async function* split(input, limits) {
    const source = await sourceOf(input);
    const {pieces, records: most = Infinity, bytes = Infinity, begin = api.begin()} = limits;
    const before = typeof limits.before === 'function' ? limits.before : () => limits.before ?? 0;
    const from = limits.from ?? begin.offset;
    const reader = new Reader(source, begin);
    for (let number = 1; pieces ? number <= pieces : !reader.isAtEnd; ++number) {
      const start = reader.mark();
      if (pieces) {
        const share = Number(BigInt(source.size - from) * BigInt(number) / BigInt(pieces));
        const target = number === pieces ? source.size : Math.max(begin.offset, from + share);
        if (target > reader.offset) {
          await reader.toOffset(target);
          await reader.toStart();
        }
      } else if (bytes === Infinity) {
        await reader.toStart(most);
      } else {
        await reader.toLast(reader.offset + Math.max(0, bytes - before(number)));
        if (reader.index - start.index > most) {
          reader.goTo(start);
          await reader.toStart(most);
        }
      }
      const end = reader.isAtEnd ? source.size : reader.offset;
      const records = reader.index - start.index;
      yield {number, start: start.state.offset, end, first: start.index + 1, records};
    }
  }
  Object.assign(api, {putBytes, startsAt, startWords, room: ROOM});
  return api;
}
