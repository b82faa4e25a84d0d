// Reads and cuts, so that the page stays alive. Answers each message with others; the last of them has `done`.
import {sourceOf} from './scan.js';
import {tools} from './csv.js';

const near = async name => (await fetch(new URL(name, import.meta.url))).arrayBuffer();
const made = Promise.all([near('cleave_scan.wasm'), near('cleave_settle.wasm')]).then(both => tools(...both));
let facts, found, isCancelled;
/** A message without its advice about options, which the page does not have. */
const plain = text => text.replace(/; ([^;]* )?--?[A-Za-z].*$/s, '');

async function* records({source, dialect, begin}, tool, most) {
  const reader = tool.api.reader(source, begin);
  for (let i = 0; i < most && !reader.isAtEnd; ++i) {
    const from = reader.offset;
    await reader.toStart(1);
    const bytes = await source.read(from, Math.min(reader.offset, from + 65536));
    yield (await tool.values(bytes, dialect)).map(
      value => new TextDecoder().decode(value.slice(0, 200)).replace(/[\r\n]+$/, ''));
  }
}

async function open({file, header}) {
  const tool = await made;
  const source = await sourceOf(file);
  let last = 0;
  facts = await tool.describe({...source, read(begin, end) {
    if (isCancelled) throw new Error('cancelled');
    if (performance.now() - last > 100) postMessage({offset: begin}), last = performance.now();
    return source.read(begin, end);
  }}, file.name, {}, header);
  const {dialect, mode, warnings, settled} = facts;
  if (settled.headerless && mode !== 'none') warnings.push('the first record looks like data');
  const sample = [];
  for await (const record of records(facts, tool, 6)) sample.push(record);
  postMessage({facts: {dialect, mode, sample}});
  found = await tool.survey(facts);
  if (found.open) throw new Error(`a quote is never closed ${await tool.place(facts, found.open)}`);
  if (found.divergence)
    warnings.push(`other programs may read this file differently from ${await tool.place(facts, found.divergence)} on`);
  return {records: found.records - facts.headerRecords, warnings: warnings.map(plain)};
}

async function cut({limits, header}) {
  const tool = await made;
  isCancelled = false;
  const wanted = {...facts, mode: facts.mode === 'none' ? 'none' : header};
  const pieces = [];
  for await (const piece of tool.pieces(wanted, limits, found.records - facts.headerRecords)) {
    pieces.push({...piece, prefix: tool.prefix(wanted, piece.number)});
    if (pieces.length > 10000) throw new Error('that makes more than 10000 pieces');
  }
  return {pieces};
}

onmessage = ({data}) => data.cancel ? isCancelled = true : (data.file ? open(data) : cut(data)).then(
  done => postMessage({done}),
  error => postMessage({failure: plain(error.message) || 'the file has changed, or cannot be read'}));
