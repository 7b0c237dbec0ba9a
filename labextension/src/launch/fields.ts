/** The fields of a launch sheet: the options of a cell's line, in the same text forms. Pure. */

export interface Field {
  /** The option's name without dashes. */
  readonly name: string;
  readonly label: string;
  /** What may be written. */
  readonly hint: string;
  readonly title: string;
  readonly flag?: boolean;
  readonly choices?: readonly string[];
}

export type Values = { readonly [option: string]: string };

const field = (name: string, label: string, hint: string, title: string): Field => ({ name, label, hint, title });

export const SIZE: readonly Field[] = [
  field('gpus', 'GPUs per node', '0, or 1-4', 'A number, or a range from the least viable to the most useful'),
  field('gpu-memory', 'Memory of one GPU', '40G', 'The least that one GPU must have'),
  field('gpu-model', 'Kind of GPU', 'a100|h100', 'Kinds that will do, with | between them'),
  field('cpus', 'CPUs per node', '1, or 2-8', 'A number, or a range'),
  field('memory', 'Memory per node', '2G, or 2G-8G', 'With its unit; a range begins at its lower end. Default: the site’s'),
  field('nodes', 'Nodes', '1', 'A number, or a range'),
  field('time', 'Time limit', '30m, or 1h-4h', 'With its unit'),
  field('runtime', 'Runs for', '2h', 'How long it runs, never a limit: 2h, 2h@1 on one GPU, or measured 1:4h,4:80m')
];

export const PLACE: readonly Field[] = [
  field('site', 'Pinned to', 'anywhere', 'SITE or SITE:PARTITION: there and nowhere else'),
  field('sites', 'Only these sites', 'any', 'With commas between, in order of preference'),
  field('account', 'Account', 'the site’s', 'The allocation that pays'),
  field('max-charge', 'Most that it may cost', 'no cap', 'In the site’s own unit'),
  field('deadline', 'Done by', 'no deadline', '18:00, +6h or 2027-01-31T18:00: done by then, or not at all'),
  {
    ...field('objective', 'What is made small', '', 'For what a place is chosen'),
    choices: ['earliest_completion', 'earliest_start', 'lowest_cost', 'least_waste', 'prefer_site']
  }
];

export const MORE: readonly Field[] = [
  field('env', 'Environment', 'the site’s own', 'One of the site’s by name; a cell may name requirements.txt, too'),
  field('stage-in', 'Data before it starts', 'NAME=SITE:/path', 'Names of %diamond data, or NAME=LOCATION; several with spaces between'),
  field('stage-out', 'Files that it leaves', '"ckpt/*.pt"', 'Patterns in quotes, "PATTERN=>LOCATION" to bring them there'),
  field('arch', 'Processors', 'any', 'x86_64 or aarch64'),
  field('fabric', 'Network between nodes', 'any', 'For example slingshot'),
  field('container', 'Container runtime', 'none', 'That must be there: apptainer'),
  field('qos', 'Quality of service', 'the site’s', 'As the site calls it'),
  field('serial', 'Part that is serial', '0.05', 'Of a runtime TIME@UNITS, what more units do not speed up'),
  field('soft', 'Wishes, not conditions', 'gpu-memory,deadline', 'Names of other fields, with commas between'),
  { ...field('preemptible', 'May be cut short', '', 'A place whose jobs give way to others will do'), flag: true },
  { ...field('unknown-charge', 'Charge may be unknown', '', 'A place whose charge is not known will do, though there is a cap'), flag: true }
];

export const FIELDS: readonly Field[] = [...SIZE, ...PLACE, ...MORE];
const FLAGS = new Set(FIELDS.filter(each => each.flag === true).map(each => each.name));
const NAMES = new Set([...FIELDS.map(each => each.name), 'seed']);

/** Those that say something. */
export function said(values: Values): { [option: string]: string } {
  return Object.fromEntries(Object.entries(values).filter(([, text]) => text.trim() !== ''));
}

/** What a cell's first line says, as far as the sheet has a field for it; the rest of it is kept as it is. */
export interface Line {
  readonly name: string;
  readonly language: 'python' | 'bash';
  readonly outputs: string;
  readonly values: Values;
  readonly rest: string;
}

export const MAGIC = '%%diamond_submit';

/** The code of a cell, without its line; null where it has none. */
export function splitCell(source: string): { line: Line | null; code: string } {
  const [first = '', ...others] = source.replace(/^\s*\n/, '').split('\n');
  if (!first.startsWith(MAGIC)) {
    return { line: null, code: source };
  }
  return { line: readLine(first.slice(MAGIC.length)), code: others.join('\n') };
}

/** Words as a shell has them, each as it was written, quotes and all. */
function shellWords(text: string): string[] {
  return text.match(/(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/g) ?? [];
}

function plain(word: string): string {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/g, (_, one, two, three) => one ?? two ?? three ?? '');
}

export function readLine(text: string): Line {
  const values: { [option: string]: string } = {};
  const rest: string[] = [];
  let [name, language, outputs]: [string, 'python' | 'bash', string] = ['', 'python', ''];
  const words = shellWords(text);
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const [, option, glued] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (option === undefined) {
      if (name === '' && !word.startsWith('-')) {
        name = word;
      } else {
        rest.push(word);
      }
      continue;
    }
    const takes = !FLAGS.has(option) && (NAMES.has(option) || option === 'out' || option === 'lang');
    const raw = glued ?? (takes ? (words[(at += 1)] ?? '') : '');
    if (FLAGS.has(option)) {
      values[option] = 'yes';
    } else if (option === 'out') {
      outputs = outputs === '' ? plain(raw) : `${outputs},${plain(raw)}`;
    } else if (option === 'lang') {
      language = plain(raw) === 'bash' ? 'bash' : 'python';
    } else if (option === 'stage-in' || option === 'stage-out') {
      values[option] = [values[option], raw].filter(each => each !== undefined).join(' ');
    } else if (NAMES.has(option)) {
      values[option] = plain(raw);
    } else {
      rest.push(word);
    }
  }
  return { name, language, outputs, values, rest: rest.join(' ') };
}

/** A task's name from a file's: `train-v2.py` is `train_v2`. */
export function nameOf(path: string): string {
  const stem = (path.split('/').pop() ?? '').replace(/\.[^.]*$/, '');
  const name = stem.replace(/[^A-Za-z0-9_]+/g, '_').replace(/^(?=[0-9])/, '_');
  return name.slice(0, 64);
}
