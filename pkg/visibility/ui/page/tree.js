// SPDX-License-Identifier: Apache-2.0
import {figure, legend} from './bars.js';
import {element} from './dom.js';
import {first} from './list.js';

// So many queues are open at first, level by level. The first level is always open.
const comfortable = 60;

// What people have opened (true) or closed (false). It stays when the tree is drawn anew.
const opened = new Map();
// The row of each queue, and what it was made from.
const rows = new Map();
// How many levels are open at first. Nothing closes by itself when queues come.
let depth;
// The queue that the Tab key goes to.
let current;

/** The tree of queues. Parents come before their children. Searching shows what matches, with the queues above it. */
export function tree(queues, shows, shown, matches, searching) {
  const names = new Set(queues.map((queue) => queue.name));
  const wanted = new Set();
  for (const queue of queues.toReversed()) {
    if (wanted.has(queue.name) || matches(queue)) {
      wanted.add(queue.name).add(queue.parent);
    }
  }
  const children = new Map();
  for (const queue of queues.filter((q) => wanted.has(q.name))) {
    const parent = names.has(queue.parent) ? queue.parent : '';
    if (!children.has(parent)) {
      children.set(parent, []);
    }
    children.get(parent).push(queue);
  }
  if (!searching) {
    depth ??= levels(children);
  }
  const items = [];
  const list = (parent, level) => {
    const all = children.get(parent) ?? [];
    const part = first(`below ${parent}`, all);
    return [...part.items.map((queue, i) => item(queue, level, i + 1, all.length)), part.more && element('li', {key: '', role: 'none'}, part.more)];
  };
  const item = (queue, level, position, siblings) => {
    const below = children.get(queue.name)?.length ?? 0;
    const open = below > 0 ? searching || (opened.get(queue.name) ?? level <= depth) : undefined;
    const made = element('li', {
      key: queue.name, role: 'treeitem', 'aria-level': level, 'aria-posinset': position, 'aria-setsize': siblings,
      'aria-expanded': open === undefined ? undefined : String(open), 'aria-label': `queue ${queue.name}`, 'data-queue': queue.name, tabindex: -1,
    });
    items.push(made);
    made.children.push(row(queue, open, below, shows, shown));
    if (open) {
      made.children.push(element('ul', {role: 'group'}, list(queue.name, level + 1)));
    }
    return made;
  };
  const top = list('', 1);
  if (items.length === 0) {
    return [element('p', {class: 'empty'}, 'No queue matches.')];
  }
  // One item of a tree is in the order of the Tab key, as the tree pattern of WAI-ARIA says.
  (items.find((made) => made.key === current) ?? items[0]).attributes.tabindex = 0;
  return [element('ul', {key: 'tree', class: 'tree', role: 'tree', 'aria-label': 'Queues', onkeydown: move, onclick: click}, top), legend()];
}

// How many levels are open unless somebody has decided otherwise.
function levels(children) {
  let queues = children.get('') ?? [];
  let visible = queues.length;
  for (let level = 1; ; level++) {
    queues = queues.flatMap((queue) => children.get(queue.name) ?? []);
    visible += queues.length;
    if (queues.length === 0 || (level > 1 && visible > comfortable)) {
      return level - 1;
    }
  }
}

// A row whose queue has not changed is the same description as before, which is not drawn again.
function row(queue, open, below, shows, shown) {
  const from = JSON.stringify([queue, open, below, shown]);
  const before = rows.get(queue.name);
  if (before?.from === from) {
    return before.made;
  }
  const made = drawRow(queue, open, below, shows);
  rows.set(queue.name, {from, made});
  return made;
}

function drawRow(queue, open, below, shows) {
  const tags = [];
  if (open === false) {
    tags.push(`${below} below`);
  }
  if (queue.waitingPods > 0) {
    tags.push(`${queue.waitingPods} waiting`);
  }
  if (queue.runningPods > 0) {
    tags.push(`${queue.runningPods} running`);
  }
  if (queue.state && queue.state !== 'Open') {
    tags.push(queue.state);
  }
  const problems = (queue.problems ?? []).filter((problem) => !problem.harmless);
  return element('div', {class: 'row'},
    element('div', {class: 'name'}, element('span', {class: 'fold', 'aria-hidden': 'true'}, open === undefined ? '' : open ? '▾' : '▸'), queue.name,
      element('span', {class: 'tags'}, tags.join(', ')),
      problems.map((problem) => element('span', {class: 'tags bad'}, `${problem.reason}: ${problem.message}`))),
    element('div', {class: 'bars'}, (queue.figures ?? []).filter(shows).map(figure)));
}

function enter(root, item) {
  for (const other of root.querySelectorAll('[role=treeitem][tabindex="0"]')) {
    other.tabIndex = -1;
  }
  item.tabIndex = 0;
  current = item.dataset.queue;
  item.focus();
}

function fold(root, item, open) {
  opened.set(item.dataset.queue, open);
  enter(root, item);
  document.dispatchEvent(new CustomEvent('redraw'));
}

function click(event) {
  const item = event.target.closest('[role=treeitem]');
  const selecting = String(getSelection()) !== '';
  if (item && !selecting && event.target.closest('.name') && item.hasAttribute('aria-expanded')) {
    fold(event.currentTarget, item, item.getAttribute('aria-expanded') !== 'true');
  }
}

function move(event) {
  if (event.target.getAttribute('role') !== 'treeitem' || event.altKey || event.ctrlKey || event.metaKey) {
    return;
  }
  const root = event.currentTarget;
  const item = event.target;
  const items = [...root.querySelectorAll('[role=treeitem]')];
  const at = items.indexOf(item);
  const expanded = item.getAttribute('aria-expanded');
  const go = (target) => target && enter(root, target);
  switch (event.key) {
    case 'ArrowDown': go(items[at + 1]); break;
    case 'ArrowUp': go(items[at - 1]); break;
    case 'Home': go(items[0]); break;
    case 'End': go(items.at(-1)); break;
    case 'Enter':
    case ' ':
      if (expanded) { fold(root, item, expanded === 'false'); }
      break;
    case 'ArrowRight':
      if (expanded === 'false') { fold(root, item, true); } else if (expanded === 'true') { go(items[at + 1]); }
      break;
    case 'ArrowLeft':
      if (expanded === 'true') { fold(root, item, false); } else { go(item.parentElement.closest('[role=treeitem]')); }
      break;
    default: return;
  }
  event.preventDefault();
}
