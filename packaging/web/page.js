// The page around worker.js: what it shows, and where the pieces go.
const $ = id => document.getElementById(id);
const DELIMITERS = {9: 'tab', 32: 'blank', 44: 'comma', 59: 'semicolon', 124: 'vertical bar'};
const number = new Intl.NumberFormat('en');
const plural = (count, name) => `${number.format(count)} ${name}${count === 1 ? '' : 's'}`;
const size = bytes => bytes < 1e6 ? plural(bytes, 'byte') : `${number.format(+(bytes / 1e6).toPrecision(3))} MB`;
let worker, file, urls = [], isCancelled = false;

/** The policy of the page holds for a worker that comes from a blob. */
function start() {
  worker?.terminate();
  const script = `import ${JSON.stringify(new URL('worker.js', location).href)}; postMessage({ready: true});`;
  const url = URL.createObjectURL(new Blob([script], {type: 'text/javascript'}));
  worker = new Worker(url, {type: 'module'});
  const made = worker;
  return new Promise((resolve, reject) => {
    made.onmessage = () => (URL.revokeObjectURL(url), resolve());
    made.onerror = () => reject(new Error('this browser does not have what the page needs'));
  });
}

/** What the worker answers; `heard` gets what comes before. Does not end if another worker is started. */
const ask = (message, heard) => new Promise((resolve, reject) => {
  worker.onmessage = ({data}) =>
    data.done ? resolve(data.done) : data.failure ? reject(new Error(data.failure)) : heard(data);
  worker.postMessage(message);
});

const element = (tag, textContent) => Object.assign(document.createElement(tag), {textContent});
function say(text) { [$('said').textContent, $('said').hidden] = [text, text === '']; }
function show(rows) {
  $('list').replaceChildren(...Object.entries(rows).flatMap(
    ([name, value]) => [element('dt', name), element('dd', value)]));
}
function reset() {
  urls.splice(0).forEach(URL.revokeObjectURL);
  $('pieces').replaceChildren();
  $('result').textContent = '';
  $('cutting').hidden = $('all').hidden = true;
}
const enable = isOn => $('form').querySelectorAll('button, input').forEach(each => { each.disabled = !isOn; });

async function open(chosen) {
  file = chosen;
  const mine = file;
  reset();
  say('');
  $('name').textContent = file.name;
  [$('facts').hidden, $('counting').hidden, $('sample').hidden] = [false, false, true];
  $('bar').value = 0;
  enable(false);
  show({Size: size(file.size)});
  const rows = {};
  try {
    await start();
    const done = await ask({file, header: $('headed').checked ? 'repeat' : 'none'}, ({facts, offset}) => {
      if (offset) $('bar').value = offset / file.size;
      if (!facts) return;
      const {dialect, mode, sample} = facts;
      Object.assign(rows, {Size: size(file.size), Columns: number.format(sample[0]?.length ?? 0), Delimiter:
        DELIMITERS[dialect.delimiter] ?? String.fromCharCode(dialect.delimiter),
      'Records end with': ['LF or CRLF', 'CR', 'LF, CRLF or CR'][dialect.terminator]});
      show(rows);
      $('sample').firstElementChild.replaceChildren(...sample.map((record, i) => {
        const row = document.createElement('tr');
        row.append(...record.slice(0, 50).map(text => element(i === 0 && mode !== 'none' ? 'th' : 'td', text)));
        return row;
      }));
      $('sample').hidden = sample.length === 0;
      $('repeat').parentElement.hidden = mode === 'none';
    });
    show({...rows, Records: number.format(done.records)});
    say(done.warnings.map(text => `Note: ${text}`).join('\n'));
    enable(true);
  } catch (error) {
    if (file === mine) say(`This file cannot be cut: ${error.message}`);
    $('headed').disabled = false;
  }
  $('counting').hidden = true;
}

const nameOf = (piece, count) => {
  const dot = file.name.lastIndexOf('.');
  const [stem, ext] = dot > 0 ? [file.name.slice(0, dot), file.name.slice(dot)] : [file.name, ''];
  return `${stem}.${String(piece.number).padStart(String(count).length, '0')}${ext}`;
};
const blobOf = piece => new Blob([file.slice(0, piece.prefix), file.slice(piece.start, piece.end)], {type: 'text/csv'});

function list(pieces) {
  $('pieces').replaceChildren(...pieces.map(piece => {
    const link = document.createElement('a');
    const name = nameOf(piece, pieces.length);
    urls.push(link.href = URL.createObjectURL(blobOf(piece)));
    [link.download, link.textContent] = [name, name];
    const item = document.createElement('li');
    const bytes = piece.prefix + piece.end - piece.start;
    item.append(link, element('span', ` ${plural(piece.records, 'record')}, ${size(bytes)}`));
    return item;
  }));
  $('all').hidden = pieces.length < 2;
  $('result').textContent = `${plural(pieces.length, 'piece')}, ready to be downloaded.`;
}

/** All pieces or none; no file of the folder is replaced. */
async function write(folder, pieces) {
  const names = pieces.map(piece => nameOf(piece, pieces.length));
  const made = [];
  let written = 0;
  for (const name of names) {
    const there = await folder.getFileHandle(name).catch(error => error.name === 'NotFoundError' ? null : name);
    if (there) throw new Error(`${name} is there already`);
  }
  try {
    for (const [i, piece] of pieces.entries()) {
      const handle = await folder.getFileHandle(names[i], {create: true});
      made.push(names[i]);
      const target = await handle.createWritable();
      const counted = new TransformStream({transform(bytes, next) {
        if (isCancelled) throw new Error('cancelled');
        $('done').value = (written += bytes.length) / file.size;
        next.enqueue(bytes);
      }});
      await blobOf(piece).stream().pipeThrough(counted).pipeTo(target);
    }
  } catch (error) {
    for (const name of made) await folder.removeEntry(name).catch(() => {});
    throw error;
  }
  $('result').textContent = `${plural(pieces.length, 'piece')} written to the folder ${folder.name}.`;
}

async function cut(event) {
  event.preventDefault();
  const by = new FormData($('form')).get('by');
  const limits = {[by]: $('number').valueAsNumber * (by === 'bytes' ? 1e6 : 1)};
  reset();
  say('');
  isCancelled = false;
  try {
    const folder = event.submitter?.id === 'folder' ? await showDirectoryPicker({mode: 'readwrite'}) : null;
    enable(false);
    [$('cutting').hidden, $('done').value] = [false, 0];
    const {pieces} = await ask({limits, header: $('repeat').checked ? 'repeat' : 'first'},
      ({offset}) => { $('done').value = offset / file.size; });
    if (isCancelled) throw new Error('cancelled');
    await (folder ? write(folder, pieces) : list(pieces));
  } catch (error) {
    if (error.name !== 'AbortError')
      say(isCancelled ? 'Cancelled; no piece is left.' : `Nothing was written: ${error.message}`);
  }
  $('cutting').hidden = true;
  enable(true);
}

$('file').onchange = () => $('file').files[0] && open($('file').files[0]);
$('headed').onchange = () => open(file);
$('form').onsubmit = cut;
$('cancel').onclick = () => { isCancelled = true, worker.postMessage({cancel: true}); };
$('all').onclick = async () => {
  for (const link of $('pieces').querySelectorAll('a')) {
    link.click();
    await new Promise(resolve => setTimeout(resolve, 300));  // browsers drop downloads that begin at once
  }
};
const over = event => { event.preventDefault(); $('drop').classList.toggle('over', event.type === 'dragover'); };
addEventListener('dragover', over);
addEventListener('dragleave', over);
addEventListener('drop', event => (over(event), event.dataTransfer.files[0] && open(event.dataTransfer.files[0])));
$('folder').hidden = !('showDirectoryPicker' in window);
