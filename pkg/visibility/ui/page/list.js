// SPDX-License-Identifier: Apache-2.0
import {element} from './dom.js';

// How many items of a list are shown at first, and how many more each time.
const step = 200;

// What people have asked for, by list.
const wanted = new Map();

/** The first items of a list, and a button for more. A browser is slow with thousands of rows, and nobody reads them. */
export function first(list, items) {
  const count = wanted.get(list) ?? step;
  if (items.length <= count) {
    return {items};
  }
  const more = () => {
    wanted.set(list, count + step);
    document.dispatchEvent(new CustomEvent('redraw'));
  };
  return {items: items.slice(0, count), more: element('button', {type: 'button', class: 'more', onclick: more}, `${count} of ${items.length}: show more`)};
}

/** A table, of whose rows the first are shown. A row has a key, and a function that returns its cells, or a heading of those after it. Cells say on a phone which column they are of. */
export function table(caption, columns, rows) {
  const shown = first(caption, rows);
  // Roles stay when the layout for phones makes blocks of rows and cells.
  return [element('table', {key: caption, role: 'table'}, element('caption', {}, caption),
    element('thead', {role: 'rowgroup'}, element('tr', {role: 'row'}, columns.map((column) => element('th', {scope: 'col', role: 'columnheader'}, column)))),
    element('tbody', {role: 'rowgroup'}, shown.items.map((row) => element('tr', {key: row.key, role: 'row'}, row.heading ? element('th', {class: 'group', role: 'cell', colspan: columns.length}, row.heading)
      : row.cells().map((cell, i) => element('td', {role: 'cell', 'data-label': columns[i]}, cell)))))), shown.more];
}
