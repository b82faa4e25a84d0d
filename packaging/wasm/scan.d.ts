/** Bytes by number; `null`: none. Left out: those of RFC 4180, with LF. */
export interface Dialect {
  delimiter?: number;
  quote?: number | null;
  escape?: number | null;
  terminator?: 0 | 1 | 2; // LF; CR; LF, CRLF or CR
  quoting?: 0 | 1; // where a quote opens a section: at the start of a field; anywhere
  scope?: 0 | 1; // where escapes act: everywhere; inside quotes
}
/** A reader between two bytes. Plain data. */
export interface State { dialect: Dialect; state: number; offset: number; openQuote: number | null }
export interface Counts { state: State; records: number; last: number | null; openQuote: number | null; ending: number }
export interface Source {
  size: number;
  chunk?: number; // how much is read at once
  read(begin: number, end: number): Uint8Array | Promise<Uint8Array>;
}
/** A Blob, a FileHandle of node:fs/promises, bytes, or a source. */
export type Input = Blob | Uint8Array | Source |
  { stat(): Promise<{ size: number }>; read(...words: any[]): Promise<any> };
export interface Limits {
  pieces?: number; records?: number; bytes?: number;
  begin?: State; before?: number | ((piece: number) => number); from?: number;
}
/** The bytes from `start` to `end` are `records` records; `first` is the number of the first, from 1. */
export interface Piece { number: number; start: number; end: number; first: number; records: number }
export interface Scan {
  begin(dialect?: Dialect): State;
  fault(dialect: Dialect): string | null;
  /** Bytes that the functions read without a copy, until it is called again. */
  buffer(size: number): Uint8Array;
  scan(bytes: Uint8Array, state: State): Counts;
  end(state: State): Counts;
  starts(bytes: Uint8Array, state: State, room?: number): { starts: number[]; state: State };
  summarise(bytes: Uint8Array, begin?: number, dialect?: Dialect): Uint8Array;
  compose(first: Uint8Array, second: Uint8Array): Uint8Array;
  resolve(summary: Uint8Array, state: State):
    { state: State; records: number; first: number | null; last: number | null };
  split(input: Input, limits: Limits): AsyncGenerator<Piece>;
}
/** From the bytes of cleave_scan.wasm, or a module compiled from them. */
export function load(wasm: BufferSource | WebAssembly.Module): Promise<Scan>;
export function sourceOf(input: Input): Promise<Source>;
export class InputChanged extends Error {}
