#!/usr/bin/env node
// cleave-csv: a part of the command cleave, wherever Node 20 runs. What it has is as in the command: options, names of
// pieces, messages, exit statuses. Everything else is refused.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {createGunzip} from 'node:zlib';
import {pipeline} from 'node:stream/promises';
import {parseArgs} from 'node:util';
import {InputChanged, sourceOf} from './scan.js';
import {Failure, tools} from './csv.js';

const [CUTS, ALL] = [['split', 'offsets'], ['split', 'offsets', 'count', 'check']];
const MODES = ['repeat', 'first', 'drop'];
const OPTIONS = [  // name, letter, whether it has a value, verbs
  ['pieces', 'n', true, CUTS], ['records', 'l', true, CUTS], ['max-bytes', 'C', true, CUTS],
  ['header', '', true, ALL], ['no-header', 'H', false, ALL], ['output', 'o', true, ['split']],
  ['force', 'f', false, ['split']], ['print-names', '', false, ['split']], ['dry-run', '', false, ['split']],
  ['mkdir', '', false, ['split']], ['first-index', '', true, ['split']], ['strict-size', '', false, CUTS],
  ['delimiter', 'd', true, ALL], ['quote', '', true, ALL], ['no-quote', '', false, ALL], ['escape', 'e', true, ALL],
  ['quoting', '', true, ALL], ['escape-scope', '', true, ALL], ['terminator', '', true, ALL],
  ['dialect', '', true, ALL], ['skip-lines', '', true, ALL], ['comment', '', true, ALL],
  ['allow-open-quote', '', false, ALL], ['require-one-reading', '', false, ALL], ['quiet', 'q', false, ALL]];
const PRESETS = 'rfc4180 excel python pandas polars arrow duckdb postgres mysql clickhouse miller tsv jsonl';
const USAGE = `cleave-csv split|offsets -n PIECES|-l RECORDS|-C SIZE [options] FILE|-
cleave-csv count|check [options] [FILE...|-]
This is a part of the command cleave, and these mean the same:
${OPTIONS.map(([name, letter]) => `${letter && `-${letter}, `}--${name}`).join('\n')}
`;
const usage = text => { throw new Failure(2, text); };
const missing = what => usage(`${what} is not in cleave-csv; the command for Linux has it`);
const undo = [];  // what to do if the run fails
const always = [];  // what to do at its end
const REASONS = {ENOENT: 'No such file or directory', EISDIR: 'Is a directory', EEXIST: 'File exists',
  EACCES: 'Permission denied', ENOTDIR: 'Not a directory', ENOSPC: 'No space left on device',
  ELOOP: 'Too many levels of symbolic links', ENAMETOOLONG: 'File name too long',
  EPIPE: 'Broken pipe', EFBIG: 'File too large'};
const describeSystem = error => `${error.dest ?? error.path ?? 'input'}: ${REASONS[error.code] ?? error.message}` +
  (error.code === 'EEXIST' ? '; -f replaces it' : '');

function parse(verb, words) {
  const rows = OPTIONS.filter(row => row[3].includes(verb));
  const options = Object.fromEntries(rows.map(([name, short, hasValue]) =>
    [name, {type: hasValue ? 'string' : 'boolean', ...(short && {short})}]));
  const isOption = word => rows.some(([name, letter]) => word === `--${name}` || (letter && word === `-${letter}`));
  const given = {verb, inputs: [], spelled: {}};
  const {tokens} = parseArgs({args: words, options, strict: false, allowPositionals: true, tokens: true});
  for (const {kind, name, rawName, value, inlineValue} of tokens) {
    if (kind === 'positional') given.inputs.push(value);
    if (kind !== 'option') continue;
    const hasValue = (Object.hasOwn(options, name) ? options[name] : missing(rawName)).type === 'string';
    if (!hasValue && value !== undefined) usage(`${rawName} takes no value`);
    if (hasValue && (value === undefined || (value === '' && inlineValue))) usage(`${rawName} needs a value`);
    if (hasValue && !inlineValue && isOption(value)) usage(`${rawName} needs a value, and ${value} is an option`);
    for (const pair of [['header', 'no-header'], ['quote', 'no-quote']]) {
      if (pair.includes(name)) delete given[pair.find(other => other !== name)];
    }
    if (hasValue && name in given) usage(`${rawName} may be given only once`);
    [given[name], given.spelled[name]] = [hasValue ? value : true, rawName];
  }
  return given;
}

function count(given, name, least = 1) {
  const [text, option] = [given[name], given.spelled[name]];
  if (text === undefined) return undefined;
  if (/^-\d+$/.test(text)) usage(`${option}: '${text}' must be at least ${least}`);
  if (!/^\d+$/.test(text)) usage(`${option}: '${text}' is not a number`);
  if (BigInt(text) >= 1n << 64n) usage(`${option}: '${text}' is too large`);
  if (BigInt(text) < least) usage(`${option}: '${text}' is too small; it must be at least ${least}`);
  return Number(text);
}

function size(given, name) {
  const [text, option] = [given[name], given.spelled[name]];
  if (text === undefined) return undefined;
  const [, whole, point, decimals, suffix] = /^(\d*)(\.?)(\d*)(.*)$/s.exec(text);
  if (whole === '' || (point && decimals === '')) usage(`${option}: '${text}' is not a number`);
  const [, prefix, rest] = /^([kmgtpe]?)(b|ib)?$/i.exec(suffix) ?? [null, '', 'x'];
  if ((prefix === '' && (suffix !== '' || point)) || rest === 'x')
    usage(`${option}: '${text}' has no known suffix (K, M, G, KB, KiB...)`);
  const unit = BigInt(/^b$/i.test(rest) ? 1000 : 1024) ** BigInt(' kmgtpe'.indexOf(prefix.toLowerCase() || ' '));
  const bytes = BigInt(whole) * unit + BigInt(decimals || 0) * unit / 10n ** BigInt(decimals.length);
  if (bytes >= 1n << 64n) usage(`${option}: '${text}' is too large`);
  if (bytes === 0n) usage(`${option}: '${text}' is too small; it must be at least 1 byte`);
  return Number(bytes);
}

function choice(given, name, choices) {
  if (given[name] === undefined) return undefined;
  if (!choices.includes(given[name])) usage(`--${name}: '${given[name]}' is not one of: ${choices.join(', ')}`);
  return choices.indexOf(given[name]);
}

function byte(given, name) {
  const text = given[name];
  if (text === undefined) return undefined;
  const named = {'\\t': 9, tab: 9, '\\0': 0, '\\\\': 92}[text];
  if (named !== undefined) return named;
  if (/^\\x[0-9a-f]{2}$/i.test(text)) return parseInt(text.slice(2), 16);
  if (Buffer.byteLength(text) !== 1) usage(`${given.spelled[name]}: '${text}' is not one byte`);
  return text.charCodeAt(0);
}

function dialectOf(given, api) {
  const wanted = {preset: given.dialect, skipLines: count(given, 'skip-lines', 0), comment: given.comment};
  if (given.dialect !== undefined) choice(given, 'dialect', PRESETS.split(' '));
  wanted.quote = given['no-quote'] ? null : byte(given, 'quote');
  wanted.escape = given.escape === 'none' ? null : byte(given, 'escape');
  wanted.scope = choice(given, 'escape-scope', ['everywhere', 'quoted']);
  wanted.quoting = choice(given, 'quoting', ['field-start', 'anywhere']);
  wanted.delimiter = given.delimiter === 'auto' ? null : byte(given, 'delimiter');
  wanted.terminator = given.terminator === 'auto' ? null : choice(given, 'terminator', ['lf', 'cr', 'any', 'auto']);
  if (given['escape-scope'] && !given.dialect && wanted.escape == null) usage('--escape-scope needs an --escape');
  if (given.comment !== undefined && (given.comment === '' || /[\r\n]/.test(given.comment)))
    usage('--comment: give a prefix without line breaks, such as #');
  const quote = wanted.quote === undefined ? 34 : wanted.quote;
  if (wanted.escape === quote) wanted.escape = null;
  const free = [44, 59, 9].find(each => each !== quote && each !== wanted.escape);
  const fault = given.dialect ? null : api.fault({quote, escape: wanted.escape, delimiter: wanted.delimiter ?? free});
  if (fault) usage(fault);
  return wanted;
}

/** Names of pieces; see PieceNamer of the library. */
function namer(template, input, first, pieces) {
  if (template.endsWith('/')) template += '{stem}.{i}{ext}';
  const name = input === '-' ? 'stdin' : path.basename(input).replace(/\.(gz|zst|xz|bz2|lz4|zip)$/, '');
  const ext = input === '-' || name.lastIndexOf('.') <= 0 ? '' : name.slice(name.lastIndexOf('.'));
  const parts = (template.match(/\{\{|\}\}|\{[^}]*\}?|\}|[^{}]+/g) ?? []).map(text => {
    if (text === '{{' || text === '}}') return text[0];
    if (text === '}') usage('} without { in the output template');
    if (text[0] !== '{') return text;
    if (!text.endsWith('}')) usage('unclosed { in the output template');
    const [field, width] = text.slice(1, -1).split(/:(.*)/s);
    if (text === '{stem}') return name.slice(0, name.length - ext.length);
    if (text === '{ext}') return ext;
    if (text === '{value}') usage('{value} in the output template: these pieces have no value of their own');
    if (!['i', 'n', 'start', 'record'].includes(field)) {
      usage(`unknown field '${text}' in the output template; there are {stem}, {ext}, {i}, {n}, {value}, {start} and ` +
        '{record}');
    }
    if (width !== undefined && !(/^\d+$/.test(width) && +width >= 1 && +width <= 20))
      usage(`'${text}' in the output template: write a width as in {i:04}`);
    if (field === 'n' && pieces === null)
      usage('{n} in the output template: the number of pieces of a stream is not known');
    return {field, width: Number(width ?? 0)};
  });
  const fields = parts.filter(part => part.field);
  if ((pieces ?? 2) > 1 && !fields.some(({field}) => field !== 'n')) {
    usage('the output template gives every piece the same name; put {i} into it' +
      (template.includes('{') ? '' : ', or a slash at its end if it is a folder'));
  }
  const digits = String(first + Math.max(1, pieces ?? 1) - 1).length;
  return piece => parts.map(part => {
    if (!part.field) return part;
    const numbers = {n: pieces, start: piece.start, record: piece.first};
    if (part.field !== 'i') return String(numbers[part.field]).padStart(part.width, '0');
    const index = String(first + piece.number - 1);
    const width = pieces === null ? part.width || 6 : Math.max(part.width, digits);
    if (index.length > width) {
      throw new Failure(1, `piece ${piece.number} needs more digits than {i} has; use {i:0${width + 3}}`);
    }
    return index.padStart(width, '0');
  }).join('');
}

async function spool(stream, isGzip) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'cleave-'));
  always.push(() => fs.rmSync(folder, {recursive: true, force: true}));
  const file = path.join(folder, 'spool');
  const gunzip = isGzip ? [createGunzip()] : [];
  let read = 0;
  try {
    stream.on('data', bytes => { read += bytes.length; });
    await pipeline(stream, ...gunzip, fs.createWriteStream(file));
  } catch (error) {
    if (!isGzip || !/^Z_/.test(error.code)) throw error;
    const why = error.code === 'Z_BUF_ERROR' ? 'gzip data that ends too early' : 'corrupt gzip data';
    throw new Failure(3, `${why} (compressed byte ${read})`);
  }
  return fs.promises.open(file);
}

/** A readable file with the bytes, and what tells whether they have changed. */
async function open(name) {
  const stamp = stat => [stat.size, stat.mtimeNs].join();
  if (name !== '-') fs.accessSync(name, fs.constants.R_OK);
  const stat = name === '-' ? fs.fstatSync(0) : fs.statSync(name);
  const isFile = stat.isFile() && stat.size > 0;  // those in /proc seem to be empty
  if (stat.isDirectory()) throw Object.assign(new Error(), {code: 'EISDIR', path: name});
  let file = name === '-' ? await spool(process.stdin, false) :
    isFile ? await fs.promises.open(name) : await spool(fs.createReadStream(name), false);
  const isStream = !isFile;
  const before = stamp(await file.stat({bigint: true}));
  const magic = (await file.read(Buffer.alloc(6), 0, 6, 0)).buffer;
  const isGzip = magic[0] === 0x1F && magic[1] === 0x8B && magic[2] === 8;
  if (/^(28b52ffd|fd377a58|425a68|04224d18|504b0304)/.test(magic.toString('hex'))) missing('its compression');
  const original = file;
  if (isGzip) file = await spool(fs.createReadStream(null, {fd: file.fd, start: 0, autoClose: false}), true);
  return {
    file, source: await sourceOf(file), stat: stat.isFile() ? stat : null, isStream: isStream || isGzip,
    isSpooled: isStream, isGzip,
    async requireSame() {
      if (stamp(await original.stat({bigint: true})) !== before) throw new InputChanged();
    },
  };
}

/** A described input and its survey; warns and fails like the command. */
async function examine(tool, given, name, warn) {
  const opened = await open(name);
  const header = given['no-header'] ? 'none' : given.header ?? 'repeat';
  const facts = await tool.describe(opened.source, name, given.wanted, header);
  facts.warnings.forEach(warn);
  if (facts.settled.headerless && header === 'repeat' && !given.header && facts.mode !== 'none')
    warn('the first record looks like data; if there is no header, use -H');
  const found = await tool.survey(facts);
  const at = async place => tool.place(facts, place, !opened.isStream || given.limits.pieces > 0);
  if (found.divergence && (given['require-one-reading'] || !given.quiet) && given.verb !== 'check') {
    const text = `the quote modes field-start and anywhere cut this input differently ${await at(found.divergence)}; ` +
      'cleave check shows the places, --quoting chooses';
    if (given['require-one-reading']) throw new Failure(3, text);
    warn(text);
  }
  if (found.open && given.verb !== 'check') {
    const [, , rest] = /^\((byte \d+), (.*)$/.exec(await at(found.open));
    const text = `quote opened at byte ${found.open.offset} (${rest} is never closed`;
    if (!given['allow-open-quote'])
      throw new Failure(3, `${text}; cleave check shows it, --allow-open-quote accepts it`);
    warn(text);
  }
  return {...opened, facts, found, at, records: found.records - facts.headerRecords};
}

async function* cut(tool, given, input, warn) {
  let [oversize, first] = [0, ''];
  const {facts, at} = input;
  for await (const piece of tool.pieces(facts, given.limits, input.records)) {
    if (piece.oversize) {
      const inHeader = tool.prefix(facts, piece.number) > 0 && facts.mode !== 'none' ? ' with the header' : '';
      const place = await at({offset: piece.start, index: piece.first - 1 + facts.headerRecords});
      const text = `a record of ${piece.end - piece.start} bytes does not fit into a piece of ` +
        `${given.limits.bytes} bytes${inHeader} ${place}`;
      if (given['strict-size']) throw new Failure(3, `${text}; without --strict-size it gets its own piece`);
      first = oversize++ === 0 ? text : first;
    }
    yield piece;
  }
  if (oversize > 1) first += `; ${oversize - 1} more record${oversize === 2 ? ' does not fit' : 's do not fit'}`;
  if (oversize > 0) warn(`${first}; each gets its own piece`);
}

async function split(tool, given, input, name, warn) {
  const warnings = [];
  const pieces = [];
  for await (const piece of cut(tool, given, input, text => warnings.push(text))) pieces.push(piece);
  const isKnown = !input.isStream || given.limits.pieces;
  const names = pieces.map(namer(given.output ?? '{stem}.{i}{ext}', name, count(given, 'first-index', 0) ?? 1,
    isKnown ? pieces.length : null));
  const identity = stat => `${stat.dev} ${stat.ino}`;
  if (names.includes('')) usage("the output template makes '', which names no file");
  const again = list => new Set(list).size < list.length && names.find((_, i) => list.indexOf(list[i]) < i);
  const twice = again(names.map(each => path.resolve(each)));
  if (again(names)) usage(`the output template gives two pieces the name '${twice}'`);
  if (twice) throw new Failure(1, `${twice}: is already a piece of this run`);
  const out = [...new Set(names.map(each => path.dirname(each)))];
  for (const folder of given['dry-run'] ? [] : out) {
    if (fs.existsSync(folder)) continue;
    if (!given.mkdir) usage(`the output directory '${folder}' does not exist; --mkdir creates it`);
    const made = fs.mkdirSync(folder, {recursive: true});
    undo.push(() => fs.rmdirSync(made));
  }
  for (const each of names) {
    if (path.basename(each).startsWith('.cleave-')) missing('a name that begins with .cleave-');
    const there = fs.statSync(each, {throwIfNoEntry: false});
    if (there && input.stat && identity(there) === identity(input.stat))
      throw new Failure(1, `${each}: would overwrite the input`);
    if (given['dry-run'] || (!there && !fs.lstatSync(each, {throwIfNoEntry: false}))) continue;
    if (!given.force) throw Object.assign(new Error(), {code: 'EEXIST', path: each});
    if (there && !there.isFile()) throw new Failure(1, `${each}: exists and is not a regular file`);
  }
  const sizeOf = piece => tool.prefix(input.facts, piece.number) + piece.end - piece.start;
  if (given['dry-run']) {
    pieces.forEach((piece, i) => process.stdout.write(`${names[i]}\t${sizeOf(piece)}\n`));
  } else {
    const made = await write(tool, input, pieces, names);
    await input.requireSame();
    publish(made, names, given.force);
    if (given['print-names']) process.stdout.write(names.map(each => `${each}\n`).join(''));
  }
  warnings.forEach(warn);
}

/** Writes the pieces under hidden names, beside where they will be. */
async function write(tool, input, pieces, names) {
  const id = `.cleave-${process.pid}-${Date.now().toString(36)}`;
  const mode = input.stat && !input.isSpooled ? input.stat.mode & 0o777 : 0o666;
  const made = [];
  for (const [i, piece] of pieces.entries()) {
    const hidden = path.join(path.dirname(names[i]), `${id}-${i + 1}`);
    const file = await fs.promises.open(hidden, 'wx', mode);
    undo.push(() => fs.rmSync(hidden, {force: true}));
    made.push(hidden);
    try {
      for (const [begin, end] of [[0, tool.prefix(input.facts, piece.number)], [piece.start, piece.end]]) {
        for (let at = begin; at < end; at += 1 << 22) {
          const bytes = await input.source.read(at, Math.min(end, at + (1 << 22)));
          if (bytes.length !== Math.min(end, at + (1 << 22)) - at) throw new InputChanged();
          await file.writeFile(bytes);
        }
      }
    } finally {
      await file.close();
    }
  }
  return made;
}

/** Gives the pieces their names. A name that is taken by now is not overwritten, where the file system has links. */
function publish(made, names, force) {
  for (const [i, name] of names.entries()) {
    if (force && fs.lstatSync(name, {throwIfNoEntry: false})) {
      fs.renameSync(name, `${made[i]}.old`);
      undo.push(() => fs.renameSync(`${made[i]}.old`, name));
    }
    try {
      fs.linkSync(made[i], name);
    } catch (error) {
      if (error.code === 'EEXIST' || fs.existsSync(name)) throw Object.assign(error, {dest: name});
      fs.renameSync(made[i], name);
    }
    undo.push(() => fs.rmSync(name, {force: true}));
  }
  for (const hidden of made) {
    fs.rmSync(hidden, {force: true});
    fs.rmSync(`${hidden}.old`, {force: true});
  }
  undo.length = 0;
}

/** Escapes what could control a terminal. */
const printable = text => text.replace(/[\x00-\x1F\x7F-\x9F]/g, each =>
  [...Buffer.from(each)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join(''));
const shownByte = byte => byte === null ? 'none' : byte > 32 && byte < 127 ? String.fromCharCode(byte) :
  byte === 9 ? '\\t' : `\\x${byte.toString(16).padStart(2, '0')}`;

/** The report of the command, in short. Returns the exit status. */
async function check(tool, given, name, input) {
  const {facts, found, records} = input;
  const {dialect, body, headerRecords, begin, source} = facts;
  const isSound = !found.open || given['allow-open-quote'];
  const end = Math.min(body.state.offset, begin.offset + 65536);
  const values = headerRecords > 0 ? await tool.values(await source.read(begin.offset, end), dialect) : [];
  const fields = values.map(value => Buffer.from(value).toString().trim());
  const rows = {
    size: `${found.size} bytes`, records: `${records}${headerRecords > 0 ? ' and a header' : ''}`,
    fields: fields.length > 0 && `${fields.length}: ${fields.join(', ')}`,
    delimiter: shownByte(dialect.delimiter),
    quote: `${shownByte(dialect.quote)}, quoting ${['field-start', 'anywhere'][dialect.quoting]}`,
    escape: shownByte(dialect.escape), terminator: ['lf', 'cr', 'any'][dialect.terminator],
    'quote modes': found.divergence ? `differ ${await input.at(found.divergence)}` : 'agree',
    'open quote': found.open && `never closed ${await input.at(found.open)}`,
  };
  process.stdout.write(`${name}: ${isSound ? 'sound' : 'not sound'}\n` + Object.entries(rows).filter(row => row[1])
    .map(([row, text]) => `  ${row.padEnd(12)} ${printable(text)}\n`).join('') +
    '  the rest of the report is not in cleave-csv\n');
  return isSound && !(given['require-one-reading'] && found.divergence) ? 0 : 3;
}

async function run(words) {
  const [verb, ...rest] = words;
  if (verb === undefined) return process.stderr.write(USAGE), 2;
  if (['-h', '--help', 'help'].includes(verb) || rest.some(word => word === '-h' || word === '--help'))
    return process.stdout.write(USAGE), 0;
  const near = name => fs.readFileSync(new URL(name, import.meta.url));
  if (verb === '--version' || verb === '-V')
    return process.stdout.write(`cleave-csv ${JSON.parse(near('package.json')).version}\n`), 0;
  if (!ALL.includes(verb)) missing(verb);
  const given = parse(verb, rest);
  const tool = await tools(near('cleave_scan.wasm'), near('cleave_settle.wasm'));
  choice(given, 'header', MODES);
  given.wanted = dialectOf(given, tool.api);
  given.limits = {pieces: count(given, 'pieces'), records: count(given, 'records'), bytes: size(given, 'max-bytes')};
  for (const other of ['records', 'max-bytes']) {
    if (given.pieces && given[other])
      usage(`${given.spelled.pieces} and ${given.spelled[other]} cannot be used together`);
  }
  if (CUTS.includes(verb) && !given.pieces && !given.records && !given['max-bytes'])
    usage(`${verb} needs -n PIECES, -l RECORDS or -C SIZE`);
  if (verb === 'split' && given.inputs.length > 1) missing('several files as one');
  if (verb === 'offsets' && given.inputs.length > 1)
    usage(`offsets takes one input, but '${given.inputs[1]}' is a second one`);
  if (verb === 'offsets' && given.inputs.length === 0) usage('offsets needs a FILE; - is standard input');
  if (given.inputs.length === 0) given.inputs.push('-');
  const isMany = given.inputs.length > 1;
  let [worst, total] = [0, 0];
  for (const name of given.inputs) {
    const shown = name === '-' ? 'stdin' : name;
    const warn = text => { if (!given.quiet) process.stderr.write(`cleave: ${printable(shown)}: warning: ${text}\n`); };
    try {
      const input = await examine(tool, given, name, warn);
      if (verb === 'split') await split(tool, given, input, name, warn);
      if (verb === 'check') worst = Math.max(worst, await check(tool, given, shown, input));
      if (verb === 'offsets') {
        if (input.isGzip) warn('offsets count decompressed bytes');
        for await (const {number, start, end, first, records} of cut(tool, given, input, warn))
          process.stdout.write(`${[number, start, end - start, first, records].join('\t')}\n`);
      }
      await (verb === 'split' ? null : input.requireSame());
      if (verb === 'count') process.stdout.write(`${input.records}${isMany ? ` ${name}` : ''}\n`);
      total += input.records;
      await input.file.close();
    } catch (error) {
      worst = Math.max(worst, fail(error, shown));
    }
  }
  if (verb === 'count' && isMany) process.stdout.write(`${total} total\n`);
  return worst;
}

function fail(error, shown) {
  let [status, text] = [1, ''];
  if (error instanceof InputChanged) {
    [status, text] = [4, `${shown}: the input was modified while it was read (its mtime or size changed)`];
  } else if (error instanceof Failure) {
    [status, text] = [error.status, `${shown && error.isOfInput ? `${shown}: ` : ''}${error.message}`];
  } else {
    text = error.code ? describeSystem(error) : error.stack;
  }
  process.stderr.write(`cleave: ${printable(text)}\n`);
  return status;
}

function clean() {
  for (const step of [...undo.splice(0).reverse(), ...always.splice(0)]) {
    try {
      step();
    } catch (error) {
      if (error.code !== 'ENOENT') process.stderr.write(`cleave: warning: ${describeSystem(error)}\n`);
    }
  }
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => (clean(), process.kill(process.pid, signal)));
}
process.stdout.on('error', error => {
  clean();
  process.exit(fail(error));
});
process.exitCode = await run(process.argv.slice(2)).catch(error => fail(error));
clean();
