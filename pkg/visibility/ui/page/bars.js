// SPDX-License-Identifier: Apache-2.0
import {nameOf, numberOf, textOf} from './amounts.js';
import {element} from './dom.js';

const quantity = (value) => (value === undefined ? undefined : numberOf(value));

/** What a queue has of one dimension, as numbers. */
export function read(figures) {
  const read = {
    allocated: numberOf(figures.allocated), coming: numberOf(figures.promised) + numberOf(figures.inqueue), request: numberOf(figures.request),
    either: numberOf(figures.either),
    deserved: quantity(figures.deserved), guarantee: quantity(figures.guarantee), limit: quantity(figures.limit),
  };
  read.waiting = Math.max(0, read.request - read.allocated);
  return read;
}

/** One dimension of a queue: its name, a bar, and numbers. The bar ends at the limit. */
export function figure(figures) {
  const f = read(figures);
  const text = (number) => textOf(figures, number);
  const parts = [`allocated ${text(f.allocated)}`];
  for (const [word, number] of [['let in or promised', f.coming], ['deserved', f.deserved], ['guaranteed', f.guarantee], ['limit', f.limit]]) {
    if (number || (number === 0 && word === 'limit')) {
      parts.push(`${word} ${text(number)}`);
    }
  }
  if (figures.limitedBy) {
    parts.push(`limited by queue ${figures.limitedBy}`);
  }
  const waiting = [];
  if (f.waiting > 0) {
    waiting.push(`${text(f.waiting)} waiting`);
  }
  if (f.either > 0) {
    waiting.push(`either: ${text(f.either)}`);
  }
  const number = f.limit === undefined ? text(f.allocated) : `${text(f.allocated)} / ${text(f.limit)}`;
  return element('div', {key: `${figures.kind}/${nameOf(figures)}`, class: 'figure', title: parts.join(', ')},
    element('span', {class: 'label'}, nameOf(figures)), bar(f, `${nameOf(figures)}: ${parts.join(', ')}`),
    element('span', {class: 'number'}, waiting.length ? `${number} (${waiting.join(', ')})` : number));
}

// As in kubectl devicequota tree, there is no bar if there is nothing to compare with.
function bar(f, label) {
  if (f.limit === undefined && f.deserved === undefined) {
    return element('span', {class: 'unlimited'}, 'no limit');
  }
  const full = Math.max(f.limit ?? 0, f.allocated + f.coming, f.deserved ?? 0) || 1;
  const percent = (number) => `${Math.min(100, (100 * number) / full)}%`;
  const within = f.deserved === undefined ? f.allocated : Math.min(f.allocated, f.deserved);
  const marks = [f.deserved, f.guarantee].filter((number) => number > 0);
  return element('svg', {class: 'bar', role: 'img', 'aria-label': label},
    element('rect', {class: 'back', width: '100%', height: '100%', rx: 3}),
    element('rect', {class: 'used', width: percent(within), height: '100%', rx: 3}),
    element('rect', {class: 'over', x: percent(within), width: percent(f.allocated - within), height: '100%'}),
    element('rect', {class: 'coming', x: percent(f.allocated), y: '25%', width: percent(f.coming), height: '50%'}),
    marks.map((number) => element('line', {class: 'mark', x1: percent(number), x2: percent(number), y1: 0, y2: '100%'})));
}

export function legend() {
  return element('p', {class: 'legend'}, 'Bars end at the limit.',
    element('i', {class: 'used'}), 'allocated', element('i', {class: 'over'}), 'beyond what is deserved',
    element('i', {class: 'coming'}), 'let in or promised', element('i', {class: 'mark'}), 'deserved, guaranteed');
}
